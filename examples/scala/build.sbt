// A project of its own, as a user has it. -Djccl.repository=URL is where the artifacts of a release are.
val jcclGroup = sys.props.getOrElse("jccl.group", "org.jccl")
val jcclVersion = sys.props.getOrElse("jccl.version", "0.2.0-SNAPSHOT")

scalaVersion := "3.3.7"
scalacOptions ++= Seq("-java-output-version", "17")
// The version that the presets ask for is not in Maven Central.
dependencyOverrides += "org.bytedeco" % "openblas" % "0.3.31-1.5.13"
resolvers ++= sys.props.get("jccl.repository").map("jccl" at _).toSeq :+ Resolver.mavenLocal

libraryDependencies ++= Seq(
  jcclGroup % "jccl-javacpp-pytorch" % jcclVersion,
  jcclGroup % "jccl-gloo" % jcclVersion,
  "org.bytedeco" % "pytorch" % "2.13.0-1.5.14",
  "org.bytedeco" % "pytorch" % "2.13.0-1.5.14" classifier "linux-x86_64",
  "org.bytedeco" % "openblas" % "0.3.31-1.5.13" classifier "linux-x86_64",
  "org.bytedeco" % "javacpp" % "1.5.14" classifier "linux-x86_64"
)

package example

import org.bytedeco.javacpp.PointerScope
import org.bytedeco.pytorch.{Adam, AdamOptions, LinearImpl, Module, Scalar, Tensor}
import org.bytedeco.pytorch.global.torch
import org.jccl.ProcessGroup
import org.jccl.pytorch.{DistributedDataParallel, TorchLibrary}
import org.jccl.training.Metrics

import scala.util.Using

/** A network that learns the sine. */
final class Sine extends Module:
  private val hidden = register_module("hidden", LinearImpl(1, 64))
  private val output = register_module("output", LinearImpl(64, 1))

  def forward(x: Tensor): Tensor = output.forward(torch.tanh(hidden.forward(x)))

/** Trains it on all ranks; each has numbers of its own. Start it with `jccl run`. */
@main def training(steps: Int): Unit =
  TorchLibrary.load()
  torch.set_num_threads(1) // ranks share a host
  Using.Manager { use =>
    val world = use(ProcessGroup.init("gloo"))
    val net = Sine()
    val parallel = use(DistributedDataParallel.of(world, net))
    val optimizer = Adam(net.parameters(), AdamOptions(1e-2))
    torch.manual_seed(world.rank()) // the weights are those of rank 0, the numbers are not
    for step <- 1 to steps do
      Using.resource(PointerScope()) { _ =>
        val x = torch.rand(256, 1).mul(Scalar(6.0)).sub(Scalar(3.0))
        optimizer.zero_grad()
        val loss = torch.mse_loss(net.forward(x), torch.sin(x))
        parallel.backward(loss) // gradients are averages over the ranks now
        optimizer.step()
        if step % 100 == 0 then
          val metrics = Metrics.of(world)
          metrics.mean("loss", loss.item_double())
          val mean = metrics.reduce().get("loss")
          if world.rank() == 0 then println(f"step $step, loss $mean%.6f")
      }
  }.get

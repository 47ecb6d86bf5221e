package org.jccl;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method whose result the caller must use. A {@link Work} that is dropped is an operation
 * that the program never waits for, so it may read or overwrite the tensors too early. Error Prone,
 * SpotBugs and IDEs know annotations of this simple name and warn of a call that ignores the result
 * when they compile it.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
public @interface CheckReturnValue {}

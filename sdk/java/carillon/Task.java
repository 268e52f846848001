package carillon;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A method that carries out a task: {@code Object name(Call call) throws Exception}. What it returns is the result. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Task {
    String path();

    String description() default "";

    /** One call at a time. */
    boolean serial() default false;

    /** Answered 202 at once; the end is reported until it is acknowledged. */
    boolean async() default false;
}

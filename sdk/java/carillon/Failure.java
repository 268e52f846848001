package carillon;

/** A failure with a code of your own; {@link #again} asks to be called later instead. */
public final class Failure extends Exception {
    private static final long serialVersionUID = 1;
    final String code;
    final int seconds;

    public Failure(String code, String message) {
        this(code, message, -1);
    }

    private Failure(String code, String message, int seconds) {
        super(message);
        this.code = code;
        this.seconds = seconds;
    }

    public static Failure again(int seconds) {
        return new Failure("DELAY", "again in " + seconds + " s", seconds);
    }
}

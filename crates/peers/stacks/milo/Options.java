import java.util.HashMap;
import java.util.Map;

/** {@code --name value} pairs, and flags that have no value. */
final class Options {
    private final Map<String, String> found = new HashMap<>();

    Options(String[] args, int from) {
        for (int i = from; i < args.length; i++) {
            if (args[i].equals("--strict")) {
                found.put(args[i], "");
            } else if (i + 1 < args.length) {
                found.put(args[i], args[++i]);
            } else {
                System.err.println(args[i] + ": no value");
                System.exit(2);
            }
        }
    }

    String get(String name) {
        return found.get(name);
    }

    String get(String name, String otherwise) {
        return found.getOrDefault(name, otherwise);
    }
}

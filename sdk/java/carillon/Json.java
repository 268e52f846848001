package carillon;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, texts, BigDecimals, booleans and null. */
public final class Json {
    private static final int DEPTH = 200;
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    public static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.space();
        if (json.at < text.length())
            throw json.wrong();
        return value;
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("no JSON at character " + at);
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0)
            at++;
    }

    private char peek() {
        space();
        if (at >= text.length())
            throw wrong();
        return text.charAt(at);
    }

    private boolean take(char c) {
        if (peek() != c)
            return false;
        at++;
        return true;
    }

    private void need(char c) {
        if (!take(c))
            throw wrong();
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at))
            throw wrong();
        at += word.length();
        return value;
    }

    private Object value(int depth) {
        if (depth > DEPTH)
            throw wrong();
        switch (peek()) {
        case '{':
            return object(depth);
        case '[':
            return array(depth);
        case '"':
            return string();
        case 't':
            return word("true", true);
        case 'f':
            return word("false", false);
        case 'n':
            return word("null", null);
        default:
            return number();
        }
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> map = new LinkedHashMap<>();
        need('{');
        if (take('}'))
            return map;
        do {
            if (peek() != '"')
                throw wrong();
            String name = string();
            need(':');
            map.put(name, value(depth + 1));
        } while (take(','));
        need('}');
        return map;
    }

    private List<Object> array(int depth) {
        List<Object> list = new ArrayList<>();
        need('[');
        if (take(']'))
            return list;
        do
            list.add(value(depth + 1));
        while (take(','));
        need(']');
        return list;
    }

    private BigDecimal number() {
        int from = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0)
            at++;
        try {
            return new BigDecimal(text.substring(from, at));
        } catch (NumberFormatException e) {
            throw wrong();
        }
    }

    private String string() {
        StringBuilder result = new StringBuilder();
        for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c != '\\') {
                result.append(c);
                continue;
            }
            if (++at >= text.length())
                throw wrong();
            int known = "\"\\/bfnrt".indexOf(text.charAt(at));
            if (known >= 0) {
                result.append("\"\\/\b\f\n\r\t".charAt(known));
            } else if (text.charAt(at) == 'u' && at + 4 < text.length()) {
                result.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                at += 4;
            } else {
                throw wrong();
            }
        }
        if (at++ >= text.length())
            throw wrong();
        return result.toString();
    }

    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        String comma = "";
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(comma);
                write(String.valueOf(entry.getKey()), out);
                out.append(':');
                write(entry.getValue(), out);
                comma = ",";
            }
            out.append('}');
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            for (Object item : list) {
                out.append(comma);
                write(item, out);
                comma = ",";
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            out.append('"');
            for (char c : value.toString().toCharArray()) {
                if (c == '"' || c == '\\')
                    out.append('\\').append(c);
                else if (c < ' ')
                    out.append(String.format("\\u%04x", (int) c));
                else
                    out.append(c);
            }
            out.append('"');
        }
    }
}

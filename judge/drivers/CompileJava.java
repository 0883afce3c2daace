import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * java CompileJava.java JAR SOURCE... compiles the sources into one archive that starts the class with `main`.
 *
 * The compiler itself requires a file of the same name for each public class, and does not report which class to
 * start. This program passes the sources as objects, which avoids both in one run of the virtual machine.
 */
class CompileJava {
    public static void main(String[] arguments) throws IOException {
        List<Source> sources = new ArrayList<>();
        for (int i = 1; i < arguments.length; i++) {
            sources.add(new Source(Path.of(arguments[i])));
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Map<String, Compiled> classes = new LinkedHashMap<>();
        JavaFileManager files = new ForwardingJavaFileManager<>(compiler.getStandardFileManager(null, null, null)) {
            @Override
            public JavaFileObject getJavaFileForOutput(
                    Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
                return classes.computeIfAbsent(name, Compiled::new);
            }
        };
        List<String> options = List.of("-proc:none", "-encoding", "UTF-8");
        if (!compiler.getTask(new PrintWriter(System.err, true), files, null, options, null, sources).call()) {
            System.exit(1);
        }
        List<Class<?>> programs = programs(classes);
        if (programs.isEmpty()) {
            System.err.println("error: no class has a method public static void main(String[])");
            System.exit(1);
        }
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, programs.get(0).getName());
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(Path.of(arguments[0])), manifest)) {
            for (Map.Entry<String, Compiled> entry : classes.entrySet()) {
                jar.putNextEntry(new JarEntry(entry.getKey().replace('.', '/') + ".class"));
                entry.getValue().content.writeTo(jar);
            }
        }
    }

    /** Returns the classes with `main`: those called Main first, then public ones, then in the compiler's order. */
    private static List<Class<?>> programs(Map<String, Compiled> classes) {
        ClassLoader loader = new ClassLoader() {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                Compiled compiled = classes.get(name);
                if (compiled == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] content = compiled.content.toByteArray();
                return defineClass(name, content, 0, content.length);
            }
        };
        List<Class<?>> found = new ArrayList<>();
        for (String name : classes.keySet()) {
            try {
                Class<?> one = loader.loadClass(name);
                var main = one.getMethod("main", String[].class);
                if (Modifier.isStatic(main.getModifiers()) && main.getReturnType() == void.class) {
                    found.add(one);
                }
            } catch (ReflectiveOperationException | LinkageError notThisOne) {
                continue;
            }
        }
        found.sort(Comparator.comparing((Class<?> one) -> !one.getSimpleName().equals("Main"))
                .thenComparing(one -> !Modifier.isPublic(one.getModifiers())));
        return found;
    }

    private static class Source extends SimpleJavaFileObject {
        private final Path path;

        Source(Path path) {
            super(path.toUri(), Kind.SOURCE);
            this.path = path;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) throws IOException {
            return Files.readString(path);
        }

        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            return true;
        }
    }

    private static class Compiled extends SimpleJavaFileObject {
        final ByteArrayOutputStream content = new ByteArrayOutputStream();

        Compiled(String name) {
            super(URI.create("memory:///" + name.replace('.', '/') + ".class"), Kind.CLASS);
        }

        @Override
        public OutputStream openOutputStream() {
            return content;
        }
    }
}

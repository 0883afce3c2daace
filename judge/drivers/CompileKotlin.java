import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler;

/**
 * java -cp 'KOTLIN/lib/*' CompileKotlin.java KOTLIN/lib/kotlin-compiler.jar JAR SOURCE... compiles the sources with the
 * standard library into one archive.
 *
 * The compiler's own option for an archive with the library fails in Debian's Kotlin, whose archives are links, and
 * accepts programs without `main`.
 */
class CompileKotlin {
    public static void main(String[] arguments) throws IOException {
        Path jar = Path.of(arguments[1]);
        Path compiled = Path.of(jar + "-alone.jar"); // the compiler writes an archive only under such a name
        List<Path> libraries = Stream.of("kotlin-stdlib", "kotlin-stdlib-jdk7", "kotlin-stdlib-jdk8")
                .map(name -> Path.of(arguments[0]).resolveSibling(name + ".jar"))
                .filter(Files::exists)
                .collect(Collectors.toList());
        String classPath = libraries.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
        List<String> command = new ArrayList<>(List.of("-no-stdlib", "-no-reflect", "-cp", classPath));
        command.addAll(List.of("-d", compiled.toString()));
        command.addAll(Arrays.asList(arguments).subList(2, arguments.length));
        int status = new K2JVMCompiler().exec(System.err, command.toArray(new String[0])).getCode();
        if (status != 0) {
            System.exit(status);
        }
        Manifest manifest;
        try (JarFile alone = new JarFile(compiled.toFile())) {
            manifest = alone.getManifest();
        }
        if (manifest.getMainAttributes().getValue(Attributes.Name.MAIN_CLASS) == null) {
            System.err.println("error: no function main was found");
            System.exit(1);
        }
        Set<String> names = new HashSet<>(List.of(JarFile.MANIFEST_NAME));
        try (JarOutputStream complete = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            complete.setLevel(Deflater.BEST_SPEED);
            copy(compiled, complete, names);
            for (Path library : libraries) {
                copy(library, complete, names);
            }
        }
    }

    private static void copy(Path from, JarOutputStream to, Set<String> names) throws IOException {
        try (JarFile jar = new JarFile(from.toFile())) {
            for (JarEntry entry : jar.stream().collect(Collectors.toList())) {
                if (!entry.isDirectory() && !entry.getName().startsWith("META-INF/versions/") && names.add(entry.getName())) {
                    to.putNextEntry(new JarEntry(entry.getName()));
                    jar.getInputStream(entry).transferTo(to);
                }
            }
        }
    }
}

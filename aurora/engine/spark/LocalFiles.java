package aurora;

import java.io.File;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * Hadoop's local file system, which without its native library starts a process, chmod, for each file it makes.
 *
 * Below the folders that are to be kept, what is made is on the disk before anything that is written later: a file when
 * it is closed, a name when it is given. Hadoop's checksums are left out there, as by Spark where it may choose: each is
 * a file of its own to wait for, and one that fits another content makes its file unreadable.
 */
public class LocalFiles extends LocalFileSystem {
    /** The folders that are to be kept, each with whether its file system can force a folder to the disk. */
    static final Map KEPT = new ConcurrentHashMap();
    static volatile Collection forced = null;

    public LocalFiles() {
        super(new Raw());
    }

    /** From now on, whatever is made below a folder survives a power cut. The folder that it lies in must exist. */
    public static void keep(String folder) throws IOException {
        File kept = new File(folder);
        FileChannel channel = FileChannel.open(kept.getParentFile().toPath(), StandardOpenOption.READ);
        try {
            channel.force(true);
            KEPT.put(kept.getPath(), Boolean.TRUE);
        } catch (IOException fault) {
            KEPT.put(kept.getPath(), Boolean.FALSE);
        } finally {
            channel.close();
        }
    }

    /** The path of each file and folder is added to `paths` when it has been forced to the disk; null ends that. */
    public static void noteForced(Collection paths) {
        forced = paths;
    }

    /** What `keep` says of the folder that a file lies in; null if it is not to be kept. */
    static Boolean find(File file) {
        for (File folder = file; folder != null; folder = folder.getParentFile()) {
            Boolean found = (Boolean) KEPT.get(folder.getPath());
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** The name of a file, if it is to be kept, is on the disk, or that it has none any more. */
    static void forceName(File file) throws IOException {
        if (Boolean.TRUE.equals(find(file))) {
            File folder = file.getParentFile();
            FileChannel channel = FileChannel.open(folder.toPath(), StandardOpenOption.READ);
            try {
                channel.force(true);
            } finally {
                channel.close();
            }
            note(folder);
        }
    }

    static void note(File file) {
        Collection paths = forced;
        if (paths != null) {
            paths.add(file.getPath());
        }
    }

    @Override
    public FSDataOutputStream create(
        Path path, FsPermission asked, boolean overwrite, int buffer, short copies, long block, Progressable progress
    ) throws IOException {
        if (find(pathToFile(path)) == null) {
            return super.create(path, asked, overwrite, buffer, copies, block, progress);
        }
        FSDataOutputStream made = getRawFileSystem().create(path, asked, overwrite, buffer, copies, block, progress);
        dropChecksum(path);
        return made;
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        if (find(pathToFile(to)) != null) {
            // First, for it belongs to what lay there before.
            dropChecksum(to);
        }
        return super.rename(from, to);
    }

    private void dropChecksum(Path path) throws IOException {
        Files.deleteIfExists(pathToFile(getChecksumFile(path)).toPath());
    }

    public static class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission asked) throws IOException {
            if (asked.getStickyBit()) {
                super.setPermission(path, asked);
                return;
            }
            String text = asked.getUserAction().SYMBOL + asked.getGroupAction().SYMBOL + asked.getOtherAction().SYMBOL;
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(text));
        }

        @Override
        protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission asked)
            throws IOException {
            OutputStream made = super.createOutputStreamWithMode(path, append, asked);
            File file = pathToFile(path);
            return find(file) == null ? made : new Kept(made, file);
        }

        @Override
        protected boolean mkOneDirWithMode(Path path, File folder, FsPermission asked) throws IOException {
            boolean made = super.mkOneDirWithMode(path, folder, asked);
            if (made) {
                forceName(folder);
            }
            return made;
        }

        @Override
        public boolean rename(Path from, Path to) throws IOException {
            boolean done = super.rename(from, to);
            if (done) {
                forceName(pathToFile(to));
            }
            return done;
        }
    }

    /** A file that is on the disk when it is closed. */
    public static class Kept extends FilterOutputStream {
        private final File file;
        private boolean closed = false;

        public Kept(OutputStream out, File file) {
            super(out);
            this.file = file;
        }

        @Override
        public void write(byte[] bytes, int start, int length) throws IOException {
            out.write(bytes, start, length);
        }

        @Override
        public void close() throws IOException {
            if (closed) {
                return;
            }
            closed = true;
            try {
                ((Syncable) out).hsync();
                note(file);
            } finally {
                out.close();
            }
            // Spark gives such a file its name when it is closed, and forgets it after a kill.
            if (!file.getName().startsWith(".") || !file.getName().endsWith(".tmp")) {
                forceName(file);
            }
        }
    }
}

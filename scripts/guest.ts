/** `node scripts/guest.ts COMMAND`: boots a guest, runs a shell command in it, and exits with its code. The project's folder is shared. */
import { join } from 'node:path';
import { Guest } from '../lab/guest/guest.ts';

const guest = await Guest.boot({ share: [join(import.meta.dirname, '..')] });
try {
  const { code, stdout, stderr } = await guest.run(process.argv.slice(2).join(' '), { timeoutMs: 600_000 });
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  process.exitCode = code;
} finally {
  await guest.shutdown();
}

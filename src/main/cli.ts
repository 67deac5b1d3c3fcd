/**
 * The entry of the command `kubelet`. Exit codes: 0 after a signal, the help or the version; 1 when the kubelet cannot start, with a one-line
 * reason, or after a second signal; 2 after an uncaught fault, as a Go program after a panic.
 *
 * Tools often run `kubelet --version` and wait for it, so the version is printed before anything else is loaded.
 */
import { writeSync } from 'node:fs';
import { nameProcess } from './process/name-process.ts';
import { versionText } from './process/version.ts';

const args = process.argv.slice(2);
if (args.length === 1 && args[0] === '--version') {
  writeSync(1, versionText);
} else if (args[0] === 'timeline') {
  const { timelineCommand } = await import('./cli/timeline/timeline-command.ts');
  process.exitCode = await timelineCommand(args.slice(1));
} else if (args[0] === 'image-gc') {
  const { imageGcCommand } = await import('./cli/image-gc/image-gc-command.ts');
  process.exitCode = await imageGcCommand(args.slice(1));
} else if (args[0] === 'eviction') {
  const { evictionCommand } = await import('./cli/eviction/eviction-command.ts');
  process.exitCode = await evictionCommand(args.slice(1));
} else {
  nameProcess('kubelet');
  const { command } = await import('./cli/command.ts');
  // process.exit could lose output that is still being written to a pipe.
  process.exitCode = await command(args);
}

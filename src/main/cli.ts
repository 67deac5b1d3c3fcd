/**
 * The entry of the command `kubelet`. Exit codes: 0 when it was told to stop, or had only to answer; 1 when it can't start, with one line
 * that says why, or when it is told to stop a second time; 2 after a fault that nobody caught, as a Go program that panics.
 *
 * Tools ask for the version often and wait for it, so that is answered before anything else is loaded.
 */
import { writeSync } from 'node:fs';
import { nameProcess } from './process/name-process.ts';
import { versionText } from './cli/version.ts';

const args = process.argv.slice(2);
if (args.length === 1 && args[0] === '--version') {
  writeSync(1, versionText);
} else {
  nameProcess('kubelet');
  const { command } = await import('./cli/command.ts');
  // Not process.exit: what was written to a pipe may still be on its way.
  process.exitCode = await command(args);
}

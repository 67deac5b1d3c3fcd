/** Runs a subcommand and prints its text, or its error as one line on stderr. Returns the exit code. */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { printable } from './printable.ts';

export async function runSubcommand(text: () => Promise<string>): Promise<number> {
  try {
    process.stdout.write(await text());
    return 0;
  } catch (err) {
    process.stderr.write(`Error: ${printable(messageOf(err))}\n`);
    return 1;
  }
}

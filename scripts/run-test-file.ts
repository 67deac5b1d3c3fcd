/** Runs one test file of a command that is not part of npm test, such as npm run test:vpa. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Arguments of the command are passed on to Node's test runner; signals too. Resolves with the exit code.
 * @param wrap changes the command, for example to run in a network namespace
 */
export async function runTestFile(
  file: string,
  wrap: (command: string, args: readonly string[]) => readonly [command: string, args: string[]] = (command, args) => [command, [...args]],
): Promise<number> {
  const [command, args] = wrap(process.execPath, ['--test', '--test-reporter=spec', ...process.argv.slice(2), file]);
  const child = spawn(command, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

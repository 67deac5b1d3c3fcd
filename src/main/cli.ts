/**
 * The command `kubelet`: reads the command line, answers --version and --help, and starts everything else.
 *
 * Exit codes: 0 when it was told to stop, or had only to answer; 1 when it can't start, with one line that says why, or when it is told
 * to stop a second time; 2 after a fault that nobody caught, as a Go program that panics.
 *
 * Only what --version needs is imported here: node agents ask for it often, and are told within a moment.
 */
import { kubernetesVersion, rawVersion } from './version.ts';
import { FlagError, parseFlags, type ParsedFlags } from './flags/parse-flags.ts';

async function main(args: readonly string[]): Promise<number> {
  let flags: ParsedFlags;
  try {
    flags = parseFlags(args);
  } catch (err) {
    if (!(err instanceof FlagError)) throw err;
    return fail(`failed to parse kubelet flag: ${err.message}`);
  }
  for (const warning of flags.warnings) process.stderr.write(`${warning}\n`);
  if (flags.rest[0] !== undefined) return fail(`unknown command ${flags.rest[0]}`);
  if (flags.values.get('help') === true) {
    const { helpText } = await import('./flags/help.ts');
    return answer(helpText(Math.min(Math.max(process.stdout.columns ?? 100, 60), 120)));
  }
  const version = flags.values.get('version');
  if (version === 'true') return answer(`Kubernetes ${kubernetesVersion}\n`);
  if (version === 'raw') return answer(`${rawVersion()}\n`);
  const { start } = await import('./start.ts');
  // Whatever is still open then, a stopped kubelet does not stay. The log is written synchronously, so nothing of it is lost.
  process.exit(await start(flags, fail));
}

function answer(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** Before there is a log, a failure is one plain line. */
function fail(message: string): number {
  process.stderr.write(`Error: ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  return 1;
}

// Not process.exit: what was written to a pipe may still be on its way.
process.exitCode = await main(process.argv.slice(2));

/** The command line: what is asked there is answered, or the kubelet is started. */
import { FlagError, parseFlags, type ParsedFlags } from '../flags/parse-flags.ts';
import { kubernetesVersion, rawVersion, versionText } from './version.ts';

/** Lines of --help: as wide as the terminal, within what can be read. */
const helpWidth = { min: 60, max: 120, withoutTerminal: 100 };

/** Answers with the exit code (cli.ts says what each means). */
export async function command(args: readonly string[]): Promise<number> {
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
    const { helpText } = await import('../flags/help.ts');
    const width = process.stdout.columns ?? helpWidth.withoutTerminal;
    return answer(helpText(Math.min(Math.max(width, helpWidth.min), helpWidth.max)));
  }
  const version = (flags.values.get('version') as string | undefined) ?? 'false';
  if (version === 'true') return answer(versionText);
  if (version === 'raw') return answer(`${rawVersion()}\n`);
  if (version.startsWith('v') && !version.startsWith(kubernetesVersion)) {
    return fail(`version "${version}" must begin with ${kubernetesVersion}`);
  }
  const { start } = await import('./start.ts');
  // Whatever is still open then, a stopped kubelet does not stay. The log is written synchronously, so nothing of it is lost.
  return process.exit(await start(flags, fail));
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

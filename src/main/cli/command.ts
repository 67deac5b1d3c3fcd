/** The command `kubelet`: prints the help or the version, or starts the kubelet. */
import { addPriority, journalStreams } from '../../shared/log/journal-priority.ts';
import { FlagError, parseFlags, type ParsedFlags } from '../config/flags/parse-flags.ts';
import { kubernetesVersion } from '../../shared/kubernetes/version.ts';
import { rawVersion, versionText } from '../process/version.ts';

/** The width of --help: that of the terminal, within readable limits. */
const helpWidth = { min: 60, max: 120, withoutTerminal: 100 };

/** Returns the exit code; cli.ts lists the codes. */
export async function command(args: readonly string[]): Promise<number> {
  let flags: ParsedFlags;
  try {
    flags = parseFlags(args);
  } catch (err) {
    if (!(err instanceof FlagError)) throw err;
    return fail(`failed to parse kubelet flag: ${err.message}`);
  }
  for (const warning of flags.warnings) process.stderr.write(`${warning}\n`);
  if (flags.positionalArgs[0] !== undefined) return fail(`unknown command ${flags.positionalArgs[0]}`);
  if (flags.values.get('help') === true) {
    const { helpText } = await import('../config/flags/help.ts');
    const width = process.stdout.columns ?? helpWidth.withoutTerminal;
    return print(helpText(Math.min(Math.max(width, helpWidth.min), helpWidth.max)));
  }
  const version = (flags.values.get('version') as string | undefined) ?? 'false';
  if (version === 'true') return print(versionText);
  if (version === 'raw') return print(`${rawVersion()}\n`);
  if (version.startsWith('v') && !version.startsWith(kubernetesVersion)) {
    return fail(`version "${version}" must begin with ${kubernetesVersion}`);
  }
  const { start } = await import('./start.ts');
  // Open handles must not keep a stopped kubelet running. The log is written synchronously, so no line is lost.
  return process.exit(await start(flags, fail));
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** Pino's level `error`. */
const errorLevel = 50;

/** Before the logger exists, a failure is one line on stderr. */
function fail(message: string): number {
  const line = `Error: ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`;
  process.stderr.write(journalStreams(process.env).includes(2) ? addPriority(line, errorLevel) : line);
  return 1;
}

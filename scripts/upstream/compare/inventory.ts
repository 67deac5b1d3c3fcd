/**
 * What a version of Kubernetes has of each kind that this kubelet follows, as the Go program in ../inventory prints it from the sources of
 * modules, and the modules that it requires.
 */
import { spawnSync, type SpawnSyncOptionsWithStringEncoding } from 'node:child_process';
import { join } from 'node:path';
import { minorOf } from '../../../src/shared/kubernetes/version.ts';
import { ensureGo, type Go } from '../../../lab/programs/go-toolchain.ts';
import { stagingVersion } from '../go-modules.ts';

/** Something by its name: what it is, and the package that has it. */
export type Things = Readonly<Record<string, { readonly is: string; readonly in: string }>>;
/** By kind, such as `gates`. */
export type Inventory = Readonly<Record<string, Things>>;

interface Requirement {
  readonly Path: string;
  readonly Version: string;
  readonly Indirect?: boolean;
}
interface GoMod {
  readonly Go?: string;
  readonly Require?: readonly Requirement[];
  readonly Replace?: readonly { readonly Old: { readonly Path: string }; readonly New: { readonly Path: string } }[];
}
interface Downloaded {
  readonly Path: string;
  /** Absent after an error. */
  readonly Dir?: string;
  readonly GoMod?: string;
  readonly Error?: string;
}

const program = join(import.meta.dirname, '../inventory');
/** Of one call of Go, which may fetch all modules of a version. */
const limitMs = 10 * 60_000;
/** Errors of Go appear on the terminal. */
const options = {
  cwd: program,
  timeout: limitMs,
  encoding: 'utf8',
  maxBuffer: 2 ** 30,
  stdio: ['pipe', 'pipe', 'inherit'],
} satisfies SpawnSyncOptionsWithStringEncoding;
const kubernetes = 'k8s.io/kubernetes';
/** Its metrics and flags are those of the kubelet. It is one module in some releases, and one of several in others. */
const cadvisor = 'github.com/google/cadvisor';

/** Fetches the modules of a version. Throws when Go or a module cannot be fetched. */
export async function fetchInventory(version: string, progress: (what: string) => void): Promise<Inventory> {
  const go = await ensureGo(program, progress);
  progress(`fetching Kubernetes ${version}`);
  const [root] = download(go, [`${kubernetes}@${version}`]);
  if (root?.GoMod === undefined) throw new Error(`${kubernetes}@${version} could not be fetched: ${root?.Error}`);
  const goMod = JSON.parse(run(go, ['mod', 'edit', '-json', root.GoMod])) as GoMod;
  const { Require = [], Replace = [] } = goMod;
  const staging = Replace.filter(({ New }) => New.Path.startsWith('./staging/')).map(({ Old }) => `${Old.Path}@${stagingVersion(version)}`);
  const libraries = Require.filter(({ Path }) => Path === cadvisor || Path.startsWith(`${cadvisor}/`));
  const others = download(go, [...staging, ...libraries.map(({ Path, Version }) => `${Path}@${Version}`)]);
  progress(`listing ${version}`);
  // A kubelet uses none of some modules. The program fails when it needs one without a folder.
  const modules = Object.fromEntries([root, ...others].map(({ Path, Dir = '' }) => [Path, Dir]));
  return { ...(await listModules(minorOf(version), modules)), modules: requiredModules(goMod) };
}

/**
 * @param release `1.37`
 * @param modules the folder of each module by its path
 */
export async function listModules(release: string, modules: Readonly<Record<string, string>>): Promise<Inventory> {
  const go = await ensureGo(program, () => {});
  return JSON.parse(run(go, ['run', '.'], JSON.stringify({ release, modules }))) as Inventory;
}

function requiredModules({ Go: version = '', Require = [] }: GoMod): Things {
  const direct = Require.filter(({ Indirect, Version }) => !Indirect && Version !== 'v0.0.0');
  return Object.fromEntries(
    [['go', version], ...direct.map(({ Path, Version }) => [Path, Version])].map(([name, is]) => [name, { is, in: 'go.mod' }]),
  );
}

/** Returns a row for each module, also when some could not be fetched. */
function download({ command, environment }: Go, modules: readonly string[]): Downloaded[] {
  const { stdout, error } = spawnSync(command, ['mod', 'download', '-json', ...modules], { ...options, env: environment });
  if (error) throw error;
  return JSON.parse(`[${stdout.trim().replaceAll(/^}\n{/gm, '},\n{')}]`) as Downloaded[];
}

function run({ command, environment }: Go, args: readonly string[], input = ''): string {
  const { status, stdout, error } = spawnSync(command, args, { ...options, env: environment, input });
  if (error) throw error;
  if (status !== 0) throw new Error(`go ${args.join(' ')} ended with ${status}`);
  return stdout;
}

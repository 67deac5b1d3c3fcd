/** Checks test/e2e/README.md: each feature names an existing test that runs the bundle, and each file of test/e2e and test/guest is named. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const folder = 'test/e2e';

export interface FeatureTests {
  readonly readme: string;
  /** Paths of the end-to-end tests relative to test/e2e. */
  readonly files: readonly string[];
  /** Returns undefined when the file does not exist. */
  readonly read: (file: string) => string | undefined;
}

export function findFeatureProblems({ readme, files, read }: FeatureTests): readonly string[] {
  const rows = readme
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const features = rows.filter(([, file, name]) => name !== undefined && file?.endsWith('.test.ts'));
  const parts = rows.filter(([file, , name]) => name === undefined && file?.endsWith('.test.ts')).map(([file = '']) => file);
  const named = new Set([...features.map(([, file = '']) => file), ...parts]);
  return [
    ...(features.length === 0 ? ['there is no table of features'] : []),
    ...features.flatMap(([feature = '', file = '', name = '']) => {
      if (parts.includes(file)) return [`${feature}: ${file} does not run the bundle: name a test that does`];
      const source = read(file);
      if (source === undefined) return [`${feature}: there is no ${file}`];
      return ["'", '"', '`'].some((quote) => source.includes(`test(${quote}${name}${quote}`))
        ? []
        : [`${feature}: ${file} has no test named "${name}" (as its source has it)`];
    }),
    ...parts.filter((file) => read(file) === undefined).map((file) => `there is no ${file}`),
    ...files
      .filter((file) => !named.has(file))
      .map((file) => `${file} is not named: add a row "| what a user sees | ${file} | the test's name |" to the table of features`),
  ];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const read = (file: string): string | undefined => {
    try {
      return readFileSync(join(root, folder, file), 'utf8');
    } catch {
      return undefined;
    }
  };
  const files = globSync('test/{e2e,guest}/**/*.test.ts', { cwd: root }).map((path) => posix.relative(folder, path));
  const problems = findFeatureProblems({ readme: read('README.md') ?? '', files, read });
  for (const problem of problems) console.error(`${folder}/README.md: ${problem}`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/**
 * Runs test files concurrently, in lanes, and prints a line per file and the complete output of failed files. A file that failed is run once more
 * when the lanes are idle: its deadlines are those of an idle host. When it passes then, it is counted and listed as flaky, beside the output of
 * its failure. When more than `maxRepeated` files failed, none is repeated.
 */
import { readSeconds, sortLongestFirst, writeSeconds } from './file-order.ts';
import { runTestFile, type FileResult, type FileRun } from './test-file.ts';

export interface Lane {
  readonly wrap: FileRun['wrap'];
  readonly env: NodeJS.ProcessEnv;
  readonly close: () => void;
}

export interface FilesRun {
  readonly files: readonly string[];
  /** Those of the files that change what the whole host has: they run when the lanes are idle. */
  readonly alone?: readonly string[];
  readonly lanes: number;
  readonly openLane: (lane: number) => Lane;
  /** Such as `end-to-end tests`. */
  readonly title: string;
}

const maxRepeated = 3;

/** Returns true when every file passed, at the first or second attempt, and skipped no test. */
export async function runFiles(options: FilesRun): Promise<boolean> {
  const run = new Run(options);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => run.stop.abort());
  return run.all();
}

class Run {
  readonly stop = new AbortController();
  readonly #options: FilesRun;
  readonly #measured = { ...readSeconds() };
  readonly #queue: string[];
  readonly #alone: string[];
  readonly #results = new Map<string, FileResult>();
  readonly #flaky: string[] = [];

  constructor(options: FilesRun) {
    this.#options = options;
    const { files, alone = [] } = options;
    this.#queue = sortLongestFirst(
      files.filter((file) => !alone.includes(file)),
      this.#measured,
    );
    this.#alone = files.filter((file) => alone.includes(file));
  }

  async all(): Promise<boolean> {
    const { files, lanes, title } = this.#options;
    const startedMs = performance.now();
    console.log(`${files.length} files in ${lanes} ${lanes === 1 ? 'lane' : 'lanes'}`);
    await Promise.all(Array.from({ length: lanes }, (_, lane) => this.#runLane(lane, this.#queue)));
    await this.#runLane(lanes, this.#alone);
    const failed = this.#failedFiles();
    // A new lane: what the processes of a closed one share, such as their control plane, is out of reach for the files of another.
    if (failed.length <= maxRepeated) await this.#runLane(lanes + 1, failed);
    writeSeconds(this.#measured);
    for (const file of this.#flaky) console.log(`! ${file} is flaky: it failed beside other files and passed alone`);
    for (const file of this.#failedFiles()) console.log(`✖ ${file}`);
    console.log(`${title} took ${Math.round((performance.now() - startedMs) / 1000)} s`);
    const sum = (count: 'passed' | 'failed' | 'skipped') => [...this.#results.values()].reduce((total, result) => total + result[count], 0);
    console.log(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped, ${this.#flaky.length} flaky files`);
    return files.length > 0 && this.#results.size === files.length && this.#failedFiles().length === 0;
  }

  /** Takes files from the queue until it is empty. */
  async #runLane(number: number, queue: string[]): Promise<void> {
    if (queue.length === 0 || this.stop.signal.aborted) return;
    const lane = this.#options.openLane(number);
    try {
      for (let file = queue.shift(); file !== undefined && !this.stop.signal.aborted; file = queue.shift()) {
        this.#report(file, await runTestFile({ file, wrap: lane.wrap, env: lane.env, signal: this.stop.signal }));
      }
    } finally {
      lane.close();
    }
  }

  #report(file: string, result: FileResult): void {
    const isRepeated = this.#results.has(file);
    this.#results.set(file, result);
    const succeeded = hasSucceeded(result);
    if (succeeded) this.#measured[file] = result.seconds;
    if (succeeded && isRepeated) this.#flaky.push(file);
    const { passed, failed, skipped, seconds, output } = result;
    const others = [failed > 0 ? `, ${failed} failed` : '', skipped > 0 ? `, ${skipped} skipped` : ''].join('');
    const progress = isRepeated ? 'second attempt' : `${this.#results.size} of ${this.#options.files.length}`;
    console.log(`${succeeded ? '✔' : '✖'} ${file}: ${passed} passed${others} in ${seconds.toFixed(1)} s (${progress})`);
    if (!succeeded) console.log(`${output.trimEnd()}\n`);
  }

  #failedFiles(): string[] {
    return [...this.#results].filter(([, result]) => !hasSucceeded(result)).map(([file]) => file);
  }
}

function hasSucceeded({ ok, skipped }: FileResult): boolean {
  return ok && skipped === 0;
}

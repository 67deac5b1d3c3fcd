/**
 * Runs builds and jobs of tests in lanes, prints a line for each, and the complete output of failed ones.
 *
 * A file that failed runs once more, alone when all others have ended: its deadlines are those of an idle host. When it passes then, it is listed
 * as flaky, beside the output of its failure. No second attempt begins when more than `maxRepeated` files failed, or after an hour.
 * An integration file is repeated at once. When it fails again, or a check or a unit test fails, the run ends.
 */
import { buildLimitMs, chooseBuilds, inIdleClass, neededBuilds, setNormalClass, type Build } from './builds.ts';
import { runCommand, type CommandResult } from './command.ts';
import { readCpuPressure } from './host-load.ts';
import type { Need, TestJob } from './jobs.ts';
import { openLane, type Lane } from './lane.ts';
import { chooseJob, isWaitingForBuilds } from './queue.ts';
import { runJob, type JobResult } from './run-job.ts';

export interface TestRun {
  readonly jobs: readonly TestJob[];
  /** How many lanes there are, and how many of them are used whatever the load of the host. */
  readonly lanes: { readonly always: number; readonly most: number };
  /** No second attempt begins after this time on the clock of `performance.now()`. */
  readonly repeatUntilMs: number;
  /** Default: those that the jobs need. */
  readonly builds?: readonly Build[];
  readonly print?: (text: string) => void;
  readonly openLane?: (number: number) => Lane;
}

export interface TestRunResult {
  /** Of the last attempt of each job. Jobs that did not run have none. */
  readonly results: ReadonlyMap<TestJob, JobResult>;
  readonly builds: ReadonlyMap<Build, CommandResult>;
  readonly flaky: readonly TestJob[];
  /** Why jobs did not run. Empty when all ran. */
  readonly problems: readonly string[];
}

/** Three for the end-to-end tests, three for those in guests. */
const maxRepeated = 6;
/** Percent of time in which a process waits for a CPU. Below it, the lanes of `most` are used. */
const calmPressure = 60;
/** How often the host's load is read, and builds are moved to the normal class. */
const tickMs = 2000;

export async function runTests(options: TestRun): Promise<TestRunResult> {
  const run = new Run(options);
  const stop = () => run.stop('it was interrupted');
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  try {
    return await run.all();
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

class Run {
  readonly #options: TestRun;
  readonly #print: (text: string) => void;
  readonly #stopped = new AbortController();
  readonly #problems: string[] = [];
  readonly #waiting: TestJob[];
  readonly #running = new Map<number, TestJob>();
  readonly #lanes: Lane[];
  readonly #results = new Map<TestJob, JobResult>();
  readonly #flaky: TestJob[] = [];
  readonly #waitingBuilds: Build[];
  /** With their process groups. */
  readonly #runningBuilds = new Map<Build, number | undefined>();
  readonly #buildResults = new Map<Build, CommandResult>();
  readonly #built = new Set<Need>();
  #allowed: number;
  #isUrgent = false;
  #repeating = false;
  #done: () => void = () => {};

  constructor(options: TestRun) {
    this.#options = options;
    this.#print = options.print ?? console.log;
    this.#waiting = [...options.jobs];
    this.#waitingBuilds = [...(options.builds ?? neededBuilds(new Set(options.jobs.flatMap(({ needs }) => needs))))];
    this.#lanes = Array.from({ length: options.lanes.most }, (_, number) => (options.openLane ?? openLane)(number));
    this.#allowed = options.lanes.always;
  }

  async all(): Promise<TestRunResult> {
    const { jobs, lanes } = this.#options;
    const laneCount = lanes.always === lanes.most ? `${lanes.most}` : `${lanes.always} to ${lanes.most}`;
    this.#print(`${jobs.length} jobs and ${this.#waitingBuilds.length} builds in ${laneCount} lanes`);
    const ticks = setInterval(() => this.#tick(), tickMs);
    try {
      await this.#drain();
      await this.#repeatFailed();
    } finally {
      clearInterval(ticks);
      for (const lane of this.#lanes) lane.close();
    }
    for (const job of this.#waiting) this.#problems.push(`${job.name} did not run`);
    return { results: this.#results, builds: this.#buildResults, flaky: this.#flaky, problems: this.#problems };
  }

  stop(reason: string): void {
    if (this.#stopped.signal.aborted) return;
    this.#problems.push(`the run ended early: ${reason}`);
    this.#stopped.abort();
  }

  /** Resolves when nothing runs and nothing can start. */
  #drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#advance();
    });
  }

  /** Called whenever something has ended. */
  #advance(): void {
    if (!this.#stopped.signal.aborted) {
      this.#startBuilds();
      for (const { number } of this.#lanes) if (!this.#running.has(number)) this.#startJob(number);
      const isUrgent = isWaitingForBuilds(this.#stateOf());
      if (isUrgent && !this.#isUrgent) this.#print('· only jobs that wait for builds are left: builds run at normal priority');
      this.#isUrgent ||= isUrgent;
    }
    if (this.#running.size === 0 && this.#runningBuilds.size === 0) this.#done();
  }

  #tick(): void {
    const { always, most } = this.#options.lanes;
    const isCalm = most > always && this.#runningBuilds.size === 0 && readCpuPressure() < calmPressure;
    this.#allowed = isCalm ? most : always;
    if (this.#isUrgent) for (const group of this.#runningBuilds.values()) if (group !== undefined) setNormalClass(group);
    for (const { provides, isReady } of this.#runningBuilds.keys()) {
      for (const need of provides) if (isReady?.(need)) this.#built.add(need);
    }
    this.#advance();
  }

  #stateOf() {
    return { waiting: this.#waiting, running: [...this.#running.values()], built: this.#built, lanes: this.#repeating ? 1 : this.#allowed };
  }

  #startJob(number: number): void {
    const job = chooseJob({ ...this.#stateOf(), lane: number });
    if (job === undefined) return;
    this.#waiting.splice(this.#waiting.indexOf(job), 1);
    this.#running.set(number, job);
    void this.#runJob(job, this.#lanes[number]!);
  }

  async #runJob(job: TestJob, lane: Lane): Promise<void> {
    const result = await runJob(job, lane, this.#stopped.signal);
    this.#running.delete(lane.number);
    const isRepeated = this.#results.has(job);
    this.#results.set(job, result);
    this.#report(job, result, isRepeated);
    if (result.ok && isRepeated) this.#flaky.push(job);
    if (!result.ok && !this.#stopped.signal.aborted) this.#handleFailure(job, isRepeated);
    this.#advance();
  }

  #handleFailure(job: TestJob, isRepeated: boolean): void {
    if (job.part === 'integration' && !isRepeated && this.#mayRepeat()) this.#waiting.push(job);
    else if (job.part === 'check' || job.part === 'unit' || job.part === 'integration') this.stop(`${job.name} failed`);
  }

  #mayRepeat(): boolean {
    return performance.now() < this.#options.repeatUntilMs;
  }

  async #repeatFailed(): Promise<void> {
    const failed = [...this.#results].filter(([, { ok }]) => !ok).map(([job]) => job);
    if (failed.length === 0 || this.#stopped.signal.aborted || failed.length > maxRepeated) return;
    if (!this.#mayRepeat()) return this.#print('no second attempts: the run has taken too long');
    this.#repeating = true;
    this.#waiting.push(...failed);
    await this.#drain();
  }

  #startBuilds(): void {
    for (const build of chooseBuilds(this.#waitingBuilds, [...this.#runningBuilds.keys()])) {
      this.#waitingBuilds.splice(this.#waitingBuilds.indexOf(build), 1);
      this.#runningBuilds.set(build, undefined);
      void this.#runBuild(build);
    }
  }

  async #runBuild(build: Build): Promise<void> {
    const [command, args] = build.isDownload || this.#isUrgent ? [build.command[0], build.command.slice(1)] : inIdleClass(build.command);
    const result = await runCommand({
      name: `build of ${build.name}`,
      command,
      args,
      env: process.env,
      limitMs: buildLimitMs,
      signal: this.#stopped.signal,
      onStart: (group) => this.#runningBuilds.set(build, group),
    });
    this.#runningBuilds.delete(build);
    this.#buildResults.set(build, result);
    const isBuilt = result.code === 0;
    this.#print(`${isBuilt ? '✔' : '✖'} build of ${build.name}${costOf(result)}`);
    if (isBuilt) for (const need of build.provides) this.#built.add(need);
    else {
      this.#print(`${result.output.trimEnd()}\n`);
      this.#giveUp(build);
    }
    this.#advance();
  }

  /** What needs a failed build cannot run. */
  #giveUp({ name, provides }: Build): void {
    const lost = this.#waiting.filter(({ needs }) => needs.some((need) => provides.includes(need) && !this.#built.has(need)));
    this.#problems.push(`the build of ${name} failed: ${lost.length} jobs did not run`);
    for (const job of lost) this.#waiting.splice(this.#waiting.indexOf(job), 1);
  }

  #report({ file, name }: TestJob, result: JobResult, isRepeated: boolean): void {
    const { ok, passed, failed, skipped, output } = result;
    const counts = [`${passed} passed`, failed > 0 ? `${failed} failed` : '', skipped > 0 ? `${skipped} skipped` : '']
      .filter(Boolean)
      .join(', ');
    const progress = isRepeated ? 'second attempt' : `${this.#results.size} of ${this.#options.jobs.length}`;
    this.#print(`${ok ? '✔' : '✖'} ${file ?? name}: ${counts}${costOf(result)} (${progress})`);
    if (!ok) this.#print(`${output.trimEnd()}\n`);
  }
}

function costOf({ seconds, cpuSeconds }: CommandResult): string {
  return ` in ${seconds.toFixed(1)} s${cpuSeconds === undefined ? '' : `, ${cpuSeconds.toFixed(1)} CPU-s`}`;
}

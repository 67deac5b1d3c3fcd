/**
 * The sync pool's threads: one at rest, since it can run hundreds of tasks at a time, and more under load. Each is a pool of its own, so that a thread that is
 * added or ends touches no other one. A task never waits for a new thread: the thread gets tasks when it is prepared.
 */
import type { Piscina } from 'piscina';
import type { EventLoopUtilization } from 'node:perf_hooks';
import type { Worker } from 'node:worker_threads';
import { SupervisedPool, type SupervisedPoolOptions } from './supervised-pool.ts';

export interface GrowingPoolOptions extends Omit<SupervisedPoolOptions, 'threads'> {
  readonly minThreads: number;
  readonly maxThreads: number;
}

/** The pool adds a thread when it has more tasks than this for each thread. Most tasks wait for the runtime. */
const tasksPerThread = 32;
/**
 * It also adds one when the thread with the fewest tasks has this many, and is busy for more than this share of the time between two samples,
 * which are at least `windowMs` apart.
 */
const busy = { tasks: 8, utilization: 0.7, windowMs: 200 };
/** A thread that the tasks do not need ends after this time. */
const idleMs = 60_000;

interface Member {
  readonly pool: SupervisedPool;
  tasks: number;
  isReady: boolean;
}

export class GrowingPool {
  readonly #options: GrowingPoolOptions;
  readonly #members: Member[] = [];
  /** Members that get no new tasks, and end after their last one. */
  readonly #retired = new Set<Member>();
  #isPrepared = false;
  #preparing: Promise<void> = Promise.resolve();
  #cancelRetirement: (() => void) | null = null;
  #sample: { readonly atMs: number; readonly member: Member; readonly utilization: EventLoopUtilization } | null = null;
  #closed = false;

  constructor(options: GrowingPoolOptions) {
    this.#options = options;
    while (this.#members.length < options.minThreads) this.#add(true);
  }

  get threads(): readonly Worker[] {
    return this.#members.flatMap(({ pool }) => pool.current.threads);
  }

  /** Settles when no thread is loading its dependencies any more. */
  get preparing(): Promise<void> {
    return this.#preparing;
  }

  /** Runs a task on the thread that has the fewest. */
  async run<T>(send: (pool: Piscina) => Promise<T>): Promise<T> {
    const member = this.#leastBusy();
    member.tasks += 1;
    if (this.#needsMore(member)) this.#grow();
    try {
      return await member.pool.run(send);
    } finally {
      member.tasks -= 1;
      this.#onTaskEnd(member);
    }
  }

  /** Lets each thread, also those to come, create its dependencies before its first task. Never throws. */
  prepare(): void {
    this.#isPrepared = true;
    for (const member of this.#members) void this.#prepare(member);
  }

  /** Ends the supervision: the exits that follow are no deaths. */
  close(): void {
    this.#closed = true;
    this.#stopRetiring();
    for (const { pool } of this.#members) pool.close();
  }

  /** Terminates all threads. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#members, ...this.#retired].map(({ pool }) => pool.destroy()));
  }

  #add(isReady: boolean): Member {
    const member = { pool: new SupervisedPool({ ...this.#options, threads: 1 }), tasks: 0, isReady };
    this.#members.push(member);
    return member;
  }

  #leastBusy(): Member {
    return this.#members.filter(({ isReady }) => isReady).reduce((least, each) => (each.tasks < least.tasks ? each : least));
  }

  get #tasks(): number {
    return this.#members.reduce((sum, { tasks }) => sum + tasks, 0);
  }

  #needsMore(member: Member): boolean {
    if (this.#closed || this.#members.length >= this.#options.maxThreads || this.#members.some(({ isReady }) => !isReady)) return false;
    return this.#tasks > tasksPerThread * this.#members.length || (member.tasks >= busy.tasks && this.#isBusy(member));
  }

  /** Returns whether the thread was busy since the last sample, and takes a new one. False when the last sample is too new, or of another thread. */
  #isBusy(member: Member): boolean {
    const atMs = this.#options.clock.monotonic();
    const before = this.#sample;
    if (before?.member === member && atMs - before.atMs < busy.windowMs) return false;
    const thread = member.pool.current.threads[0]?.performance;
    if (!thread) return false;
    const utilization = thread.eventLoopUtilization();
    this.#sample = { atMs, member, utilization };
    return before?.member === member && thread.eventLoopUtilization(utilization, before.utilization).utilization > busy.utilization;
  }

  #grow(): void {
    this.#stopRetiring();
    void this.#prepare(this.#add(false));
  }

  async #prepare(member: Member): Promise<void> {
    if (this.#isPrepared) {
      const prepared = member.pool.run(async (pool) => pool.run(undefined, { name: 'prepare' }));
      this.#preparing = Promise.allSettled([this.#preparing, prepared]).then(() => {});
      await prepared.catch((err: unknown) => this.#options.logger.debug({ err }, 'a thread of the sync pool is not prepared'));
    }
    member.isReady = true;
  }

  #onTaskEnd(member: Member): void {
    if (this.#retired.has(member) && member.tasks === 0) return void this.#end(member);
    // Half of the tasks for which a smaller pool would grow again.
    const isEnough = this.#tasks <= (tasksPerThread * (this.#members.length - 1)) / 2;
    if (this.#closed || this.#members.length <= this.#options.minThreads || !isEnough) return this.#stopRetiring();
    this.#cancelRetirement ??= this.#options.clock.after(idleMs, () => this.#retireLast());
  }

  #stopRetiring(): void {
    this.#cancelRetirement?.();
    this.#cancelRetirement = null;
  }

  #retireLast(): void {
    this.#cancelRetirement = null;
    const last = this.#members.at(-1);
    if (!last?.isReady || this.#members.length <= this.#options.minThreads) return;
    this.#members.pop();
    last.pool.close();
    this.#retired.add(last);
    this.#onTaskEnd(last);
  }

  async #end(member: Member): Promise<void> {
    await member.pool.destroy().catch((err: unknown) => this.#options.logger.debug({ err }, 'a thread of the sync pool did not end'));
    this.#retired.delete(member);
    this.#onTaskEnd(member);
  }
}

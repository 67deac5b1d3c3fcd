/** The operations of iptables that the chains need, for one IP family. Upstream: pkg/util/iptables. */
import type { IPFamily, RunIPTablesResult, RunIPTablesTask } from '../../shared/contracts/pod-sync/iptables.ts';
import { waitFlags } from './wait-flags.ts';
import type { ChainStep, Table } from './wanted-chains.ts';

export type RunIPTables = (task: RunIPTablesTask) => Promise<RunIPTablesResult>;

/** The exit code of iptables when the chain to create exists, or the rule to check does not. */
const operationFailed = 1;
/** The exit code when the host lacks a resource, such as the lock. */
const resourceProblem = 4;

export class IPTables {
  readonly family: IPFamily;
  readonly #run: RunIPTables;
  readonly #waitFlags: readonly string[];

  private constructor(family: IPFamily, run: RunIPTables, flags: readonly string[]) {
    this.family = family;
    this.#run = run;
    this.#waitFlags = flags;
  }

  /** Null when the host has no iptables for the family. Rejects when that is not known. */
  static async find(family: IPFamily, run: RunIPTables): Promise<IPTables | null> {
    const version = await run({ family, args: ['--version'] });
    if (version.result === 'not found') return null;
    if (version.result === 'failed') throw new Error(version.message);
    const iptables = new IPTables(family, run, waitFlags(version.output));
    return (await iptables.chainExists('nat', 'POSTROUTING')) ? iptables : null;
  }

  /** Rejects when the host lacks a resource for the check, or the command does not end. A kernel without the table has no chain. */
  async chainExists(table: Table, chain: string): Promise<boolean> {
    const { code, output } = await this.#command('-S', chain, '-t', table);
    if (code === resourceProblem) throw toError(code, output);
    return code === 0;
  }

  async ensureChain(table: Table, chain: string): Promise<void> {
    const { code, output } = await this.#command('-N', chain, '-t', table);
    // The chain exists already.
    if (code !== 0 && code !== operationFailed) throw toError(code, output);
  }

  async ensure(step: ChainStep): Promise<void> {
    const { table, chain } = step;
    if (step.ensure === 'chain') return this.ensureChain(table, chain);
    const rule = [chain, '-t', table, ...step.rule];
    const check = await this.#command('-C', ...rule);
    if (check.code === 0) return;
    if (check.code !== operationFailed) throw toError(check.code, check.output);
    const added = await this.#command(step.position === 'first' ? '-I' : '-A', ...rule);
    if (added.code !== 0) throw toError(added.code, added.output);
  }

  async #command(...args: string[]): Promise<{ readonly code: number; readonly output: string }> {
    const exit = await this.#run({ family: this.family, args: [...this.#waitFlags, ...args] });
    if (exit.result === 'exited') return exit;
    throw new Error(exit.result === 'failed' ? `iptables ${exit.message}` : 'iptables was not found');
  }
}

function toError(code: number, output: string): Error {
  return new Error(`iptables: exit status ${code}: ${output.replaceAll(/\s+/g, ' ')}`);
}

/** Runs the suite with ginkgo and reads its report. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestResult } from './verdict.ts';

/** A suite with a cluster or node that it can test. */
export interface GinkgoSuite {
  readonly program: string;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where the suite and ginkgo write reports, as they see it. Default: `reports` of the run. */
  readonly reports?: string;
  /** Runs ginkgo elsewhere, and brings the reports here. */
  readonly execute?: (words: readonly string[], stop: AbortSignal) => Promise<void>;
}

export interface GinkgoRun {
  readonly ginkgo: string;
  readonly suite: GinkgoSuite;
  readonly processes: number;
  readonly labelFilter: string;
  /** Regular expressions of test names. */
  readonly focus: readonly string[];
  /** Regular expressions of source files. */
  readonly focusFiles: readonly string[];
  readonly skip: readonly string[];
  /** Interrupts the tests. They clean up, and the report has what has ended. */
  readonly stop: AbortSignal;
  /** Receives report.json, junit.xml, and the suite's own files. */
  readonly reports: string;
}

interface Spec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeText: string;
  readonly LeafNodeType: string;
  readonly State: string;
  readonly NumAttempts: number;
  /** Nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message: string };
}

/** Returns the names of all tests, and the results of those that were started. */
export async function runGinkgo(run: GinkgoRun): Promise<{ readonly names: readonly string[]; readonly results: readonly TestResult[] }> {
  const { suite, reports } = run;
  mkdirSync(reports, { recursive: true });
  const files = run.focusFiles.map((each) => `--focus-file=${each}`);
  const patterns = [...run.focus.map((each) => `--focus=${each}`), ...run.skip.map((each) => `--skip=${each}`), ...files];
  const reporting = [
    `--output-dir=${suite.reports ?? reports}`,
    '--json-report=report.json',
    '--junit-report=junit.xml',
    '--no-color',
    '--silence-skips',
  ];
  const selection = [`--procs=${run.processes}`, '--timeout=3h', `--label-filter=${run.labelFilter}`, ...patterns];
  const words = [...selection, ...reporting, suite.program, '--', ...suite.flags];
  await (suite.execute?.([run.ginkgo, ...words], run.stop) ?? executeHere(run, words));
  return readReport(readFileSync(join(reports, 'report.json'), 'utf8'));
}

async function executeHere({ ginkgo, suite, stop }: GinkgoRun, words: readonly string[]): Promise<void> {
  const child = spawn(ginkgo, words, { stdio: 'inherit', detached: true, env: { ...process.env, ...suite.env } });
  const interrupt = () => {
    // ginkgo leaves it to the terminal to interrupt its test processes: they are in one process group.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
  };
  stop.addEventListener('abort', interrupt, { once: true });
  if (stop.aborted) interrupt();
  await once(child, 'exit');
  stop.removeEventListener('abort', interrupt);
}

/** Setups and tear-downs of the suite count only when they failed. */
export function readReport(text: string): { readonly names: readonly string[]; readonly results: readonly TestResult[] } {
  const suites = JSON.parse(text) as readonly { readonly SpecReports: readonly Spec[] | null }[];
  const specs = suites.flatMap(({ SpecReports }) => SpecReports ?? []);
  const nameOf = ({ ContainerHierarchyTexts, LeafNodeText, LeafNodeType }: Spec) =>
    LeafNodeType === 'It' ? [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ') : `[${LeafNodeType}] ${LeafNodeText}`;
  const outcomeOf = ({ State }: Spec) => (State === 'passed' || State === 'skipped' ? State : 'failed');
  return {
    names: specs.map(nameOf),
    results: specs
      // A test that the filters exclude is skipped without an attempt.
      .filter((spec) => (spec.LeafNodeType === 'It' ? spec.State !== 'pending' && spec.NumAttempts > 0 : outcomeOf(spec) === 'failed'))
      .map((spec) => ({ name: nameOf(spec), outcome: outcomeOf(spec), message: spec.Failure?.Message ?? '', seconds: spec.RunTime / 1e9 })),
  };
}

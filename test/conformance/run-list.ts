/** Runs one list in the namespaces that run.ts has made for it. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ensureConformanceBinaries } from './binaries.ts';
import { ClusterNode } from './cluster-node.ts';
import { runGinkgo } from './ginkgo.ts';
import { GuestSuite } from './guest-suite.ts';
import { focusFiles, suiteProgram, type TestList } from './lists.ts';
import { NodeSuite } from './node-suite/node-suite.ts';
import { computeVerdict, countsOf, isGood, verdictText, type Counts, type Expectation } from './verdict.ts';

const committed = import.meta.dirname;

export interface ListRun {
  readonly list: TestList;
  /** The whole list, and not a part of it that the command line has chosen. */
  readonly complete: boolean;
  /** Of the private host, or for what is built. */
  readonly folder: string;
  readonly reports: string;
  /** In a guest: another kubelet. */
  readonly kubelet?: string | undefined;
  readonly stop: AbortSignal;
  readonly progress: (what: string) => void;
}

/** Returns whether exactly the expected tests failed, and none is missing. Writes verdict.txt and counts.json into the reports. */
export async function runList(run: ListRun): Promise<boolean> {
  const { list, complete, reports, stop, progress } = run;
  const binaries = await ensureConformanceBinaries(new Set([suiteProgram(list)]), progress);
  const expectations = readCommitted('expected.yaml') as readonly Expectation[];
  const own = expectations.filter(({ lists }) => lists.includes(list.name));
  const notRun = own.filter(({ outcome }) => outcome === 'not run');
  const node = hostOf(run);
  mkdirSync(reports, { recursive: true });
  try {
    const suite = await node.start(binaries, reports, progress);
    progress(`running the list ${list.name}; the kubelet's log is ${node.kubeletLog}`);
    const skip = [...list.skip, ...notRun.map(({ test }) => test.replaceAll(/[\^$.*+?()[\]{}|]/g, '\\$&'))];
    const { processes, labelFilter, focus } = list;
    const selection = { processes, labelFilter, focus, skip, focusFiles: focusFiles(list) };
    const { names, results } = await runGinkgo({ ginkgo: binaries.ginkgo, suite, reports, stop, ...selection });
    const counts = readCommitted('counts.yaml') as Readonly<Record<string, Counts>>;
    const verdict = computeVerdict(results, names, own, complete ? counts[list.name]?.ran : undefined);
    const text = verdictText(verdict, notRun);
    writeFileSync(join(reports, 'verdict.txt'), `${text}\n`);
    if (complete) writeFileSync(join(reports, 'counts.json'), JSON.stringify(countsOf(verdict)));
    console.log(text);
    return isGood(verdict);
  } finally {
    const log = join(reports, 'kubelet.log');
    if (node.kubeletLog !== log && existsSync(node.kubeletLog)) copyFileSync(node.kubeletLog, log);
    await node.destroy();
  }
}

function hostOf({ list, folder, reports, kubelet }: ListRun): ClusterNode | NodeSuite | GuestSuite {
  switch (list.suite) {
    case 'cluster':
      return new ClusterNode(list);
    case 'node':
      return new NodeSuite(folder, reports);
    case 'guest':
      return new GuestSuite({ ...list, folder, reports, ...(kubelet !== undefined && { kubelet }) });
    default:
      return list.suite satisfies never;
  }
}

function readCommitted(file: string): unknown {
  return parse(readFileSync(join(committed, file), 'utf8'));
}

/** Values of Kubernetes that several parts act on, and the file that has each of them and the rules for it. */
import type { OwnedLiteral } from './check-literals.ts';

const inFile = (file: string, ...literals: readonly string[]): OwnedLiteral[] => literals.map((literal) => ({ literal, file }));

export const ownedLiterals: readonly OwnedLiteral[] = [
  ...inFile('src/shared/kubernetes/critical-pod.ts', '2_000_000_000', "'system-node-critical'"),
  ...inFile(
    'src/shared/kubernetes/waiting-reasons.ts',
    "'ContainerCreating'",
    "'PodInitializing'",
    "'ImagePullBackOff'",
    "'CrashLoopBackOff'",
  ),
  ...inFile('src/shared/kubernetes/qos-class.ts', "['Guaranteed', 'Burstable', 'BestEffort']"),
  ...inFile('src/shared/kubernetes/swap.ts', "'LimitedSwap'"),
  ...inFile('src/shared/kubernetes/ready-condition.ts', "type === 'Ready'"),
  ...inFile('src/shared/cgroups/cgroup-names.ts', "'kubepods'"),
];

/** Rules that depend on the host's cgroup version, and rules for user namespaces (upstream: validation_linux.go; swap: cmd/kubelet/app/server.go). */
import { isSwapLimited } from '../../../shared/kubernetes/swap.ts';
import { collectErrors, invalidConfiguration, type ValidationRule } from './rules.ts';

/** The number of IDs of a pod's user namespace is a multiple of this. */
const idsUnit = 65536;
const maxUint32 = 2 ** 32 - 1;

export const checkHost: ValidationRule = ({ config, gates, host }) => {
  const isV1 = host.cgroupVersion === 1;
  const ids = config.userNamespaces?.idsPerPod ?? null;
  if (config.failCgroupV1 && isV1) {
    return [
      'kubelet is configured to not run on a host using cgroup v1 (failCgroupV1, --fail-cgroupv1). ' +
        'cgroup v1 support is unsupported and will be removed in a future release',
    ];
  }
  return [
    ...collectErrors(
      [isV1 && config.singleProcessOOMKill === false, 'singleProcessOOMKill must not be explicitly set to false when using cgroup v1'],
      [
        isV1 && gates.enabled('NodeSwap') && isSwapLimited(config.memorySwap.swapBehavior),
        'memorySwap.swapBehavior "LimitedSwap" is only supported with cgroup v2',
      ],
    ),
    ...(ids === null ? [] : checkIDs(ids)),
  ];
};

function checkIDs(ids: number): string[] {
  const name = 'userNamespaces.idsPerPod';
  if (ids < idsUnit) return [invalidConfiguration(`${name} must not be less than ${idsUnit}, got ${ids}`)];
  if (ids % idsUnit !== 0) return [invalidConfiguration(`${name} must be a multiple of ${idsUnit}, got ${ids}`)];
  return collectErrors([ids > maxUint32, `${name} must not be more than ${maxUint32}, got ${ids}`]);
}

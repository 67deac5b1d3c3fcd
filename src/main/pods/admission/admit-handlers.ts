/** Creates this node's admit handlers, in upstream's order. */
import { release } from 'node:os';
import type { KubeletOptions } from '../../cli/options.ts';
import { apparmorAdmission, hostHasAppArmor } from './apparmor.ts';
import { featureAdmission } from './features.ts';
import { predicateAdmission, type PredicateOptions } from './predicates.ts';
import { sysctlAdmission } from './sysctl-admission.ts';
import type { AdmitHandler } from './admit-handler.ts';

export interface AdmitHandlersOptions extends Pick<KubeletOptions, 'config' | 'featureGates'> {
  readonly node: PredicateOptions['node'];
  /** The Node's declared features; null while the gate NodeDeclaredFeatures is off. */
  readonly declaredFeatures: readonly string[] | null;
}

export function admitHandlers({ config, featureGates, node, declaredFeatures }: AdmitHandlersOptions): AdmitHandler[] {
  return [
    sysctlAdmission(config.allowedUnsafeSysctls, release()),
    predicateAdmission({ node, tolerationComparisons: featureGates.enabled('TaintTolerationComparisonOperators') }),
    apparmorAdmission(hostHasAppArmor()),
    featureAdmission({ podLevelResources: featureGates.enabled('PodLevelResources'), declared: declaredFeatures }),
  ];
}

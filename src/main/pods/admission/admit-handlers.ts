/** Creates this node's admit handlers, in upstream's order. */
import { release } from 'node:os';
import type { PressureCondition } from '../../../shared/contracts/eviction.ts';
import type { KubeletOptions } from '../../config/options.ts';
import { apparmorAdmission, hostHasAppArmor } from './apparmor.ts';
import { featureAdmission } from './features.ts';
import { predicateAdmission, type PredicateOptions } from './predicates.ts';
import { shutdownAdmission } from './node-shutdown.ts';
import { pressureAdmission } from './pressure.ts';
import { sysctlAdmission } from './sysctl-admission.ts';
import type { AdmitHandler } from './admit-handler.ts';

export interface AdmitHandlersOptions extends Pick<KubeletOptions, 'config' | 'featureGates'> {
  readonly node: PredicateOptions['node'];
  /** The Node's declared features; null while the gate NodeDeclaredFeatures is off. */
  readonly declaredFeatures: readonly string[] | null;
  /** The node's current pressure conditions. */
  readonly pressureConditions: () => ReadonlySet<PressureCondition>;
  readonly isShuttingDown: () => boolean;
}

export function admitHandlers(options: AdmitHandlersOptions): AdmitHandler[] {
  const { config, featureGates, node, declaredFeatures, pressureConditions, isShuttingDown } = options;
  const tolerationComparisons = featureGates.enabled('TaintTolerationComparisonOperators');
  return [
    pressureAdmission(pressureConditions, tolerationComparisons),
    sysctlAdmission(config.allowedUnsafeSysctls, release()),
    predicateAdmission({ node, tolerationComparisons }),
    apparmorAdmission(hostHasAppArmor()),
    featureAdmission({ podLevelResources: featureGates.enabled('PodLevelResources'), declared: declaredFeatures }),
    shutdownAdmission(isShuttingDown),
  ];
}

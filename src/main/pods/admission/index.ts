/**
 * Admission: the admit handlers, which are called in order until one rejects the pod. A rejected pod is Failed with the reason of the handler and
 * never starts. The pod handlers call them for each new pod. Upstream: the admit handlers of NewMainKubelet.
 */
export { admitHandlers } from './admit-handlers.ts';
export { apparmorAdmission, hostHasAppArmor } from './apparmor.ts';
export { countRejection } from './count-rejection.ts';
export { missingFeaturesForUpdate } from './features.ts';
export { predicateAdmission } from './predicates.ts';
export { pressureAdmission } from './pressure.ts';
export { resizeFit } from './resize-fit.ts';
export { sysctlAdmission } from './sysctl-admission.ts';
export type { AdmissionNode, AdmitHandler, Preemption, AdmitResult } from './admit-handler.ts';

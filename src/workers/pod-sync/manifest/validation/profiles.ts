/** Validates seccomp and AppArmor profiles: the fields, the annotations that preceded the fields, and that both agree. */
import type { Container, Pod, PodSecurityContext } from '../../../../shared/kubernetes/api.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import { checkLocalDescendingPath, checkRequiredEnum } from './checks.ts';
import { eachContainer } from './each-container.ts';
import { forbidden, invalid, keyPath, required, tooLong } from '../../../../shared/kubernetes/field-error.ts';

type Seccomp = NonNullable<PodSecurityContext['seccompProfile']>;
type AppArmor = NonNullable<PodSecurityContext['appArmorProfile']>;

const types = ['Localhost', 'RuntimeDefault', 'Unconfined'];
/** PATH_MAX − 1. */
const maxProfileLength = 4095;

export function validateSeccomp(profile: Seccomp | undefined, path: string, errors: string[]): void {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  if (type === '') errors.push(required(`${path}.type`, 'type is required when seccompProfile is set'));
  else checkRequiredEnum(type, `${path}.type`, types, errors);
  const localhostProfilePath = `${path}.localhostProfile`;
  if (type !== 'Localhost') {
    if (localhostProfile !== undefined)
      errors.push(invalid(localhostProfilePath, profile, 'can only be set when seccomp type is Localhost'));
  } else if (localhostProfile === undefined) errors.push(required(localhostProfilePath, 'must be set when seccomp type is Localhost'));
  else checkLocalDescendingPath(localhostProfile, localhostProfilePath, errors);
}

export function validateAppArmor(profile: AppArmor | undefined, path: string, errors: string[]): void {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  const localhostProfilePath = `${path}.localhostProfile`;
  if (type === '') return void errors.push(required(`${path}.type`, 'type is required when appArmorProfile is set'));
  checkRequiredEnum(type, `${path}.type`, types, errors);
  if (type !== 'Localhost') {
    if (localhostProfile !== undefined && types.includes(type)) {
      errors.push(invalid(localhostProfilePath, localhostProfile, 'can only be set when AppArmor type is Localhost'));
    }
  } else if (!localhostProfile) errors.push(required(localhostProfilePath, 'must be set when AppArmor type is Localhost'));
  else {
    if (localhostProfile.trim() !== localhostProfile)
      errors.push(invalid(localhostProfilePath, localhostProfile, 'must not be padded with whitespace'));
    if (Buffer.byteLength(localhostProfile) > maxProfileLength) errors.push(tooLong(localhostProfilePath, maxProfileLength));
  }
}

const seccompPodAnnotation = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainerPrefix = 'container.seccomp.security.alpha.kubernetes.io/';
const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';
/** The prefix of a node-local profile in both annotations. */
const localhostPrefix = 'localhost/';
const seccompDefaults = ['runtime/default', 'docker/default'];

export function validateProfileAnnotations({ metadata, spec }: Pod, path: string, errors: string[]): void {
  const names = new Set(eachContainer(spec, '').map(({ container }) => container.name));
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    if (key === seccompPodAnnotation || key.startsWith(seccompContainerPrefix)) {
      const annotationPath = `${path}.${key}`;
      if (value.startsWith(localhostPrefix)) checkLocalDescendingPath(value.slice(localhostPrefix.length), annotationPath, errors);
      else if (value !== 'unconfined' && !seccompDefaults.includes(value)) {
        errors.push(invalid(annotationPath, value, 'must be a valid seccomp profile'));
      }
    }
    if (!key.startsWith(appArmorPrefix)) continue;
    const annotationPath = keyPath(path, key);
    const name = key.slice(appArmorPrefix.length);
    if (!names.has(name)) errors.push(invalid(annotationPath, name, 'container not found'));
    if (value !== '' && value !== 'runtime/default' && value !== 'unconfined' && !value.startsWith(localhostPrefix)) {
      errors.push(invalid(annotationPath, value, `invalid AppArmor profile name: ${goQuote(value)}`));
    }
  }
}

/** A field and its annotation must agree when both are set. */
export function validateProfilesMatch({ metadata, spec }: Pod, path: string, errors: string[]): void {
  const annotations = metadata.annotations ?? {};
  const { seccompProfile, appArmorProfile } = spec.securityContext ?? {};
  const podProfile = annotations[seccompPodAnnotation];
  if (seccompProfile && podProfile !== undefined) {
    validateMatch('seccomp', seccompProfile, podProfile, `${path}.securityContext.seccompProfile`, errors);
  }
  for (const { container, path: containerPath } of eachContainer(spec, path)) {
    const context: Container['securityContext'] = container.securityContext;
    const seccomp = annotations[`${seccompContainerPrefix}${container.name}`];
    if (context?.seccompProfile && seccomp !== undefined) {
      validateMatch('seccomp', context.seccompProfile, seccomp, `${containerPath}.securityContext.seccompProfile`, errors);
    }
    const appArmor = annotations[`${appArmorPrefix}${container.name}`];
    const profile = context?.appArmorProfile ?? appArmorProfile;
    if (spec.os?.name === 'windows' || !profile || appArmor === undefined) continue;
    validateMatch('apparmor', profile, appArmor, `${containerPath}.securityContext.appArmorProfile`, errors);
  }
}

function validateMatch(profileType: 'seccomp' | 'apparmor', profile: Seccomp, annotation: string, path: string, errors: string[]): void {
  const isSameType = {
    Unconfined: annotation === 'unconfined',
    RuntimeDefault: annotation === 'runtime/default' || (profileType === 'seccomp' && annotation === 'docker/default'),
    Localhost: annotation.startsWith(localhostPrefix),
  }[profile.type];
  if (isSameType === false) errors.push(forbidden(`${path}.type`, `${profileType} type in annotation and field must match`));
  else if (profile.type === 'Localhost' && annotation.slice(localhostPrefix.length) !== profile.localhostProfile) {
    errors.push(forbidden(`${path}.localhostProfile`, `${profileType} profile in annotation and field must match`));
  }
}

/**
 * In which form `/statusz` and `/flagz` are wanted: text for people, or an API object by a media type that names group, version and
 * kind. Upstream: k8s.io/apiserver pkg/endpoints/handlers/negotiation with the restrictions of pkg/server/{statusz,flagz}. Pure.
 */
export type Form =
  | { readonly type: 'text' }
  | { readonly type: 'json' | 'yaml'; readonly version: 'v1alpha1' | 'v1beta1' }
  | { readonly type: 'none' };

const structured: Readonly<Record<string, 'json' | 'yaml'>> = { 'application/json': 'json', 'application/yaml': 'yaml' };

/** The first form that is wanted and can be had. */
export function formFor(accept: string | undefined, kind: 'Statusz' | 'Flagz'): Form {
  if (accept === undefined || accept.trim() === '') return { type: 'text' };
  for (const range of accept.split(',')) {
    const [mediaType = '', ...rest] = range.split(';').map((part) => part.trim());
    const named = (name: string) => rest.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
    const names = [named('g'), named('v'), named('as')];
    const form = structured[mediaType.toLowerCase()];
    if (form && names[0] === 'config.k8s.io' && names[2] === kind && (names[1] === 'v1alpha1' || names[1] === 'v1beta1')) {
      return { type: form, version: names[1] };
    }
    if (['text/plain', 'text/*', '*/*'].includes(mediaType.toLowerCase()) && names.every((name) => name === undefined))
      return { type: 'text' };
  }
  return { type: 'none' };
}

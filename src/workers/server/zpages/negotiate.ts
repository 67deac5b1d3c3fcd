/**
 * In which form `/statusz` and `/flagz` are wanted: text for people, or an API object by a media type that names group, version and
 * kind. Upstream: k8s.io/apiserver pkg/endpoints/handlers/negotiation with the restrictions of pkg/server/{statusz,flagz}. Pure.
 */
export type Form =
  | { readonly type: 'text' }
  | { readonly type: 'json' | 'yaml'; readonly version: 'v1alpha1' | 'v1beta1' }
  | { readonly type: 'none' };

/** A wildcard is the first of what it covers. */
const structured: Readonly<Record<string, 'json' | 'yaml'>> = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/*': 'json',
  '*/*': 'json',
};
const texts = ['text/plain', 'text/*', '*/*'];

/** The form that is wanted most of those that can be had. */
export function negotiateForm(accept: string | undefined, kind: 'Statusz' | 'Flagz'): Form {
  if (accept === undefined || accept.trim() === '') return { type: 'text' };
  for (const { mediaType, named } of ranges(accept)) {
    const [group, version, as] = [named('g'), named('v'), named('as')];
    const form = structured[mediaType];
    if (form && group === 'config.k8s.io' && as === kind && (version === 'v1alpha1' || version === 'v1beta1'))
      return { type: form, version };
    if (texts.includes(mediaType) && group === undefined && version === undefined && as === undefined) return { type: 'text' };
  }
  return { type: 'none' };
}

interface Range {
  readonly mediaType: string;
  readonly named: (name: string) => string | undefined;
}

/** The most wanted first (`q`); of those that are wanted as much, the one that was named first. */
function ranges(accept: string): Range[] {
  const all = accept.split(',').map((range) => {
    const [mediaType = '', ...rest] = range.split(';').map((part) => part.trim());
    const named = (name: string) => rest.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
    const quality = Number(named('q') ?? 1);
    return { mediaType: mediaType.toLowerCase(), named, quality: Number.isNaN(quality) ? 1 : quality };
  });
  return all.sort((a, b) => b.quality - a.quality);
}

/**
 * Negotiates the format of `/statusz` and `/flagz`: text, or an API object for a media type with group, version and kind. Upstream:
 * k8s.io/apiserver pkg/endpoints/handlers/negotiation with the restrictions of pkg/server/{statusz,flagz}. Pure.
 */
export type Form =
  | { readonly type: 'text' }
  | { readonly type: 'json' | 'yaml'; readonly version: 'v1alpha1' | 'v1beta1' }
  /** The client accepts none of the formats. */
  | { readonly type: 'none' };

/** A wildcard selects the first format that it covers. */
const structured: Readonly<Record<string, 'json' | 'yaml'>> = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/*': 'json',
  '*/*': 'json',
};
const texts = ['text/plain', 'text/*', '*/*'];

/** Returns the client's most preferred format that is available. */
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

/** Sorted by quality (`q`), then by order of appearance. */
function ranges(accept: string): Range[] {
  const acceptRanges = accept.split(',').map((range) => {
    const [mediaType = '', ...rest] = range.split(';').map((part) => part.trim());
    const parameter = (name: string) => rest.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
    const quality = Number(parameter('q') ?? 1);
    return { mediaType: mediaType.toLowerCase(), named: parameter, quality: Number.isNaN(quality) ? 1 : quality };
  });
  return acceptRanges.sort((a, b) => b.quality - a.quality);
}

/** The fields of a CredentialProviderConfig in the versions of kubelet.config.k8s.io (upstream staging k8s.io/kubelet/config). */
import { codecs, type Codec } from '../field-codecs.ts';

/** A provider as written. Values that are required are empty or null when they are absent. */
export interface RawCredentialProvider {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration: number | null;
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Only v1 has this field. */
  readonly tokenAttributes: RawTokenAttributes | null;
}

export interface RawTokenAttributes {
  readonly serviceAccountTokenAudience: string;
  readonly cacheType: string;
  readonly requireServiceAccount: boolean | null;
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

interface RawConfig {
  readonly providers: readonly RawCredentialProvider[];
}

const fieldsOfAllVersions = {
  name: codecs.text(),
  matchImages: codecs.texts(),
  defaultCacheDuration: codecs.nullable(codecs.duration()),
  apiVersion: codecs.text(),
  args: codecs.texts(),
  env: codecs.listOf(codecs.struct({ name: codecs.text(), value: codecs.text() })),
};

const tokenAttributes = codecs.struct<RawTokenAttributes>({
  serviceAccountTokenAudience: codecs.text(),
  cacheType: codecs.text(),
  requireServiceAccount: codecs.nullable(codecs.optional.bool(false)),
  requiredServiceAccountAnnotationKeys: codecs.texts(),
  optionalServiceAccountAnnotationKeys: codecs.texts(),
});

const olderProvider = codecs.struct<Omit<RawCredentialProvider, 'tokenAttributes'>>(fieldsOfAllVersions);
const olderConfig: Codec<RawConfig> = withoutTokens();
const currentConfig = codecs.struct<RawConfig>({
  providers: codecs.listOf(
    codecs.struct<RawCredentialProvider>({ ...fieldsOfAllVersions, tokenAttributes: codecs.nullable(tokenAttributes) }),
  ),
});

/** The codec of each version of the group. */
export const configVersions: ReadonlyMap<string, Codec<RawConfig>> = new Map([
  ['kubelet.config.k8s.io/v1', currentConfig],
  ['kubelet.config.k8s.io/v1beta1', olderConfig],
  ['kubelet.config.k8s.io/v1alpha1', olderConfig],
]);

export const configKind = 'CredentialProviderConfig';

function withoutTokens(): Codec<RawConfig> {
  const codec = codecs.struct({ providers: codecs.listOf(olderProvider) });
  return {
    absent: { providers: [] },
    read: (value, fieldPath) => ({
      providers: codec.read(value, fieldPath).providers.map((provider) => ({ ...provider, tokenAttributes: null })),
    }),
    write: (config) => codec.write(config),
  };
}

/**
 * The certificates of a control plane: one CA signs all server and client certificates, which are stored as files in a folder. Uses openssl,
 * which Debian installs with ca-certificates, because Node can not sign X.509 certificates.
 */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of PEM files; the key is PKCS #8. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface CertificateRequest {
  /** For a client: the user name. */
  readonly commonName: string;
  /** For a client: the groups. */
  readonly organizations?: readonly string[];
  readonly usages: readonly ('clientAuth' | 'serverAuth')[];
  readonly dnsNames?: readonly string[];
  readonly ips?: readonly string[];
}

const keyArgs = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
/** Ten years. Must end before 2050, when X.509's date format changes. */
const validity = ['-days', '3650'];

export class CertificateAuthority {
  readonly #folder: string;
  readonly certFile: string;
  readonly keyFile: string;

  /** Opens the CA of the folder, or creates it. With a parent it is an intermediate one. */
  constructor(folder: string, commonName = 'control-plane-ca', parent?: CertificateAuthority) {
    this.#folder = folder;
    this.certFile = join(folder, 'ca.crt');
    this.keyFile = join(folder, 'ca.key');
    if (existsSync(this.certFile)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const signer = parent ? ['-CA', parent.certFile, '-CAkey', parent.keyFile] : [];
    this.#openssl('ca', ['-subj', `/CN=${commonName}`, ...signer, '-addext', 'keyUsage=critical,digitalSignature,keyCertSign,cRLSign']);
  }

  /** Returns the certificate of this name, and issues it if it does not exist. */
  issue(name: string, request: CertificateRequest): CertificateFiles {
    const files = { certFile: join(this.#folder, `${name}.crt`), keyFile: join(this.#folder, `${name}.key`) };
    if (existsSync(files.certFile)) return files;
    const { commonName, organizations = [], usages, dnsNames = [], ips = [] } = request;
    const subject = [...organizations.map((name) => `/O=${escaped(name)}`), `/CN=${escaped(commonName)}`].join('');
    const names = [...dnsNames.map((name) => `DNS:${name}`), ...ips.map((ip) => `IP:${ip}`)];
    const extensions = [
      'basicConstraints=critical,CA:FALSE',
      'keyUsage=critical,digitalSignature',
      `extendedKeyUsage=${usages.join(',')}`,
      ...(names.length > 0 ? [`subjectAltName=${names.join(',')}`] : []),
    ];
    const signer = ['-CA', this.certFile, '-CAkey', this.keyFile];
    this.#openssl(name, ['-subj', subject, ...signer, ...extensions.flatMap((extension) => ['-addext', extension])]);
    return files;
  }

  /** Renames the certificate last, so that an existing certificate always has its key. */
  #openssl(name: string, args: readonly string[]): void {
    const part = join(this.#folder, `${name}.${process.pid}`);
    try {
      execFileSync('openssl', ['req', '-x509', ...keyArgs, ...validity, '-keyout', `${part}.key`, '-out', `${part}.crt`, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
        encoding: 'utf8',
      });
    } catch (err) {
      for (const end of ['key', 'crt']) rmSync(`${part}.${end}`, { force: true });
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') {
        throw new Error('openssl is missing, which signs the certificates: install the Debian package openssl', { cause: err });
      }
      throw new Error(`openssl could not make the certificate ${name}: ${(err as { stderr?: string }).stderr ?? String(err)}`, {
        cause: err,
      });
    }
    renameSync(`${part}.key`, join(this.#folder, `${name}.key`));
    renameSync(`${part}.crt`, join(this.#folder, `${name}.crt`));
  }
}

/** Escapes slash and plus, which separate parts in openssl's `-subj`. */
function escaped(text: string): string {
  return text.replaceAll(/[\\/+]/g, String.raw`\$&`);
}

/** Returns the key pair for service account tokens, and creates it if it does not exist. */
export function serviceAccountKeys(folder: string): { readonly publicKeyFile: string; readonly privateKeyFile: string } {
  const files = { publicKeyFile: join(folder, 'service-account.pub'), privateKeyFile: join(folder, 'service-account.key') };
  if (existsSync(files.publicKeyFile)) return files;
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  writeFileSync(files.privateKeyFile, privateKey, { mode: 0o600 });
  writeFileSync(files.publicKeyFile, publicKey);
  return files;
}

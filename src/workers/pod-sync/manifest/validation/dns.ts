/** Validates a pod's DNS configuration, host aliases and host name. The limits are the API's. */
import { isIP } from 'node:net';
import type { PodSpec } from '../../../../shared/kubernetes/api.ts';
import { dns1123SubdomainWithUnderscoreErrors } from '../../../../shared/kubernetes/names.ts';
import { checkDNSSubdomain } from './checks.ts';
import { forbidden, invalid, required, tooLong } from '../../../../shared/kubernetes/field-error.ts';

const maxNameservers = 3;
const maxSearchPaths = 32;
const maxSearchCharacters = 2048;

export function validateDNSConfig({ dnsPolicy, dnsConfig }: PodSpec, path: string, errors: string[]): void {
  if (dnsPolicy === 'None') {
    if (!dnsConfig) return void errors.push(required(path, 'must provide `dnsConfig` when `dnsPolicy` is None'));
    if (!dnsConfig.nameservers?.length) {
      const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return void errors.push(required(`${path}.nameservers`, detail));
    }
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  if (nameservers.length > maxNameservers) {
    errors.push(invalid(`${path}.nameservers`, nameservers, `must not have more than ${maxNameservers} nameservers`));
  }
  for (const [index, server] of nameservers.entries()) checkIP(server, `${path}.nameservers[${index}]`, errors);
  if (searches.length > maxSearchPaths) {
    errors.push(invalid(`${path}.searches`, searches, `must not have more than ${maxSearchPaths} search paths`));
  }
  if (searches.join(' ').length > maxSearchCharacters) {
    const detail = `must not have more than ${maxSearchCharacters} characters (including spaces) in the search list`;
    errors.push(invalid(`${path}.searches`, searches, detail));
  }
  for (const [index, search] of searches.entries()) {
    if (search === '.') continue;
    const domain = search.endsWith('.') ? search.slice(0, -1) : search;
    for (const each of dns1123SubdomainWithUnderscoreErrors(domain)) errors.push(invalid(`${path}.searches[${index}]`, domain, each));
  }
  for (const [index, { name }] of options.entries()) if (!name) errors.push(required(`${path}.options[${index}]`, 'must not be empty'));
}

export function validateHostAliases(aliases: NonNullable<PodSpec['hostAliases']>, path: string, errors: string[]): void {
  for (const [index, { ip, hostnames = [] }] of aliases.entries()) {
    checkIP(ip, `${path}[${index}].ip`, errors);
    for (const [at, hostname] of hostnames.entries()) checkDNSSubdomain(hostname, `${path}[${index}].hostnames[${at}]`, errors);
  }
}

const maxHostnameOverrideLength = 64;

export function validateHostnameOverride(spec: PodSpec, path: string, errors: string[]): void {
  const { hostnameOverride: name, setHostnameAsFQDN, hostNetwork } = spec;
  if (name === undefined) return;
  if (setHostnameAsFQDN) errors.push(forbidden(path, 'may not be specified when setHostnameAsFQDN is true'));
  if (hostNetwork) errors.push(forbidden(path, 'may not be specified when hostNetwork is true'));
  if (name.length > maxHostnameOverrideLength) errors.push(tooLong(path, maxHostnameOverrideLength));
  checkDNSSubdomain(name, path, errors);
}

/** Rejects forms that parsers interpret differently (leading zeros, IPv4 in IPv6). */
function checkIP(address: string, path: string, errors: string[]): void {
  const isDecimalIPv4 = /^\d{1,9}(?:\.\d{1,9}){3}$/.test(address) && address.split('.').every((part) => Number(part) <= 255);
  if (isIP(address) !== 0 && !address.includes('%')) {
    if (/^::ffff:/i.test(address)) errors.push(invalid(path, address, 'must not be an IPv4-mapped IPv6 address'));
  } else if (isDecimalIPv4) errors.push(invalid(path, address, 'must not have leading 0s'));
  else errors.push(invalid(path, address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'));
}

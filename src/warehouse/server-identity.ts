/** Whether the certificate of a server is that of the host of its address. */
import { isIPv6 } from 'node:net'
import { checkServerIdentity as checkByNode, type PeerCertificate } from 'node:tls'

/**
 * As Node.js, which compares IPv6 addresses as they are written: a certificate has
 * `0:0:0:0:0:0:0:1`, an address `::1`. It puts a name in quotes that could be read as several.
 */
export function checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const error = checkByNode(host, certificate)
  const names = certificate.subjectaltname ?? ''
  if (error === undefined || !isIPv6(host) || names.includes('"')) return error
  const toShort = (address: string) => URL.parse(`http://[${address}]`)?.hostname
  const addresses = names.split(', ').flatMap((name) => /^IP Address:(.+)$/.exec(name)?.[1] ?? [])
  return addresses.some((address) => isIPv6(address) && toShort(address) === toShort(host))
    ? undefined
    : error
}

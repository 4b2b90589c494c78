/** TLS on this machine: certificates, and Postgres behind one. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { createTempFolder } from './temp-folder.ts'

export type KeyPair = { readonly cert: string; readonly key: string }

/** Self-signed, for a host that is not this machine. `certFile`: to trust it. */
export function issueCertificate(
  host: string,
  atEnd?: (remove: () => void) => void,
): KeyPair & { readonly certFile: string } {
  const folder = createTempFolder(atEnd)
  const certFile = join(folder, 'cert.pem')
  const keyFile = join(folder, 'key.pem')
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const name = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const files = ['-keyout', keyFile, '-out', certFile]
  execFileSync('openssl', ['req', '-x509', ...kind, ...name, ...files], { stdio: 'pipe' })
  return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8'), certFile }
}

/** Self-signed, for localhost. */
export const certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUe5wXlUZL6+i8kJDInYlFo5yftGswCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIzNDc0MVoYDzIxMjYxMDI4
MjM0NzQxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQX2skalMfwLzAfCokOfzSXSHXhEtJKx1GTv3OwLQHNyYOmmzmbd+Z/
C4uwOuIzkebBZHLzfoKXlRXbmmHkDN+to1MwUTAdBgNVHQ4EFgQUMn/xKSbkBZUF
A5CKqq5tmScW3tYwHwYDVR0jBBgwFoAUMn/xKSbkBZUFA5CKqq5tmScW3tYwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBu3z4TU9rCMtFtVDDXW5u0
QLAa6cPZg2cg4d+dQx1g1wIgHQaTw2RNDOXcpizRQxBLDubi5utHsmjDtj98uYAA
X7w=
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/uBMN2mBgMA3r2ze
t9EWjAwad9j3Pt9AghyrY+ki2ZqhRANCAAQX2skalMfwLzAfCokOfzSXSHXhEtJK
x1GTv3OwLQHNyYOmmzmbd+Z/C4uwOuIzkebBZHLzfoKXlRXbmmHkDN+t
-----END PRIVATE KEY-----`,
}

/**
 * Answers as Postgres does that it speaks TLS, and passes on what it decrypts. Returns its port.
 */
export async function openTlsProxy(port: number): Promise<number> {
  const server = createServer((raw) => {
    raw.once('data', () => {
      raw.write('S')
      const client = new TLSSocket(raw, { isServer: true, ...certificate })
      pipeline(client, connect(port), client, () => {})
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

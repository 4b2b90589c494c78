/** Network and TLS errors as sentences. Pure. */

import { errorCode } from '../values/user-error.ts'

/** The text only: undici's errors carry sockets and headers. */
export function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown network error'
  const code = errorCode(error) || error.name
  const [inner] = error instanceof AggregateError ? error.errors : []
  if (inner !== undefined && error.message === '') return describeNetworkError(inner)
  const { message } = error
  const sentence = networkErrorText(code)
  if (sentence !== undefined)
    return `${sentence} (${message.includes(code) && message.length < 100 ? message : code})`
  return message.includes(code) ? message : `${code}: ${message}`
}

const untrustedCertificate = /SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET)|^CERT_UNTRUSTED$/

/** Its authority is not known here. */
export const isUntrustedCertificate = (error: Error): boolean =>
  untrustedCertificate.test(errorCode(error))

/** Shown with the code, to search for. Source: nodejs.org/api/errors.html. */
const networkErrorTexts: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens at that address'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was closed without a response'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'the host does not answer'],
  [/^(EHOSTUNREACH|ENETUNREACH|ENETDOWN)$/, 'there is no route to that host'],
  [/^ENOTFOUND$/, 'the host name is unknown'],
  [/^EAI_/, 'the host name cannot be resolved'],
  [/^(EMFILE|ENFILE)$/, 'this process cannot open more files: raise its limit (ulimit -n)'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet: is this machine's clock right?"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is for another host'],
  [
    untrustedCertificate,
    'its certificate is not signed by an authority that this machine trusts; ' +
      'NODE_EXTRA_CA_CERTS=FILE adds one',
  ],
  [
    /^(ERR_SSL_|EPROTO)/,
    'the server does not speak HTTPS correctly: is it plain HTTP, or a proxy?',
  ],
  [/^HPE_|^HTTPParserError$/, 'the server does not speak HTTP: is the port right?'],
]

/** Undefined for an unknown code: then the library's own message is shown. */
export function networkErrorText(code: string): string | undefined {
  return networkErrorTexts.find(([pattern]) => pattern.test(code))?.[1]
}

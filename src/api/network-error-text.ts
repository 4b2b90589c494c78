/** Network and TLS errors as sentences. The code is shown as well, to search for. Source: nodejs.org/api/errors.html. */
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
    /SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET)|^CERT_UNTRUSTED$/,
    'its certificate is not signed by an authority that this machine trusts; NODE_EXTRA_CA_CERTS=FILE adds one',
  ],
  [/^(ERR_SSL_|EPROTO)/, 'the server does not speak HTTPS correctly: is it plain HTTP, or a proxy?'],
  [/^HPE_|^HTTPParserError$/, 'the server does not speak HTTP: is the port right?'],
]

/** Undefined for an unknown code: then the library's own message is shown. */
export function networkErrorText(code: string): string | undefined {
  return networkErrorTexts.find(([pattern]) => pattern.test(code))?.[1]
}

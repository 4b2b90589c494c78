/** Errors of the network and of TLS in words. The code stays: it is what one looks for elsewhere. Source: nodejs.org/api/errors.html. */
const networkErrorTexts: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens at that address'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was closed without an answer'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'the host does not answer'],
  [/^(EHOSTUNREACH|ENETUNREACH|ENETDOWN)$/, 'there is no way to that host'],
  [/^ENOTFOUND$/, 'no host of that name is known'],
  [/^EAI_/, 'the name of the host cannot be looked up just now'],
  [/^(EMFILE|ENFILE)$/, 'this process may open no more files: raise its limit (ulimit -n)'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet: is this machine's clock right?"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is made for another host'],
  [
    /SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET)|^CERT_UNTRUSTED$/,
    'its certificate is signed by nobody whom this machine trusts; NODE_EXTRA_CA_CERTS=FILE names one more authority',
  ],
  [/^(ERR_SSL_|EPROTO)/, 'what answers there does not speak https as it should: is it http, or a proxy?'],
  [/^HPE_|^HTTPParserError$/, 'what answers there does not speak HTTP: is the port right?'],
]

/** Undefined for what is not known here: then the library's own words have to do. */
export function networkErrorText(code: string): string | undefined {
  return networkErrorTexts.find(([pattern]) => pattern.test(code))?.[1]
}

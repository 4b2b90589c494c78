/**
 * Through an HTTP proxy: CONNECT, then TLS with the service. A request is written only into a
 * finished tunnel, so without one it has never left.
 */
import { type IncomingMessage, request as requestByHttp } from 'node:http'
import { request as requestByHttps } from 'node:https'
import { createRequire } from 'node:module'
import { isIP, isIPv6, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import type { HttpProxy } from '../config/proxy.ts'
import type { Ms } from '../values/time.ts'
import { errorCode } from '../values/user-error.ts'
import { checkServerIdentity } from '../warehouse/server-identity.ts'
import type { ProxyProblem } from './core/api-failure.ts'
import { describeNetworkError, isUntrustedCertificate } from './network-errors.ts'

/** No response of the proxy is repeated: it may show what was sent to it. */
export class ProxyError extends Error {
  readonly problem: ProxyProblem
  constructor(message: string, problem: ProxyProblem) {
    super(message)
    this.problem = problem
  }
}

const buildTlsConnector: typeof buildConnector = createRequire(import.meta.url)(
  'undici/lib/core/connect.js',
)

/** For `connect` of an undici pool. Its errors are ProxyErrors. */
export function createTunnelConnector(proxy: HttpProxy, timeoutMs: Ms): buildConnector.connector {
  const connectTls = buildTlsConnector({ allowH2: false, timeout: timeoutMs, checkServerIdentity })
  return (options, callback) => {
    const { hostname, port } = options
    const host = isIPv6(hostname) ? `[${hostname}]` : hostname
    const fail = (error: ProxyError) => callback(error, null)
    openTunnel(proxy, host, port === '' ? '443' : port, timeoutMs).then((httpSocket) => {
      connectTls({ ...options, httpSocket }, (error, socket) => {
        if (error === null) callback(null, socket)
        else fail(explainBrokenTunnel(error, proxy, host))
      })
    }, fail)
  }
}

/** Rejects with ProxyError. */
function openTunnel(proxy: HttpProxy, host: string, port: string, timeoutMs: Ms): Promise<Socket> {
  const { authorization } = proxy
  return new Promise((resolve, reject) => {
    const target = `${host}:${port}`
    const request = (proxy.isTls ? requestByHttps : requestByHttp)({
      method: 'CONNECT',
      host: proxy.host,
      port: proxy.port,
      path: target,
      headers: {
        host: target,
        ...(authorization && { 'proxy-authorization': authorization.reveal() }),
      },
      agent: false,
      // Otherwise it would be the host of the header.
      servername: isIP(proxy.host) === 0 ? proxy.host : '',
      checkServerIdentity,
    })
    const onTimeout = () => request.destroy(new Error(`no answer within ${timeoutMs} ms`))
    const timer = setTimeout(onTimeout, timeoutMs)
    request.once('close', () => clearTimeout(timer))
    request.once('error', (error) => reject(explainUnreachable(error, proxy)))
    request.once('connect', (response: IncomingMessage, socket: Socket, head: Buffer) => {
      clearTimeout(timer)
      const status = response.statusCode ?? 0
      if (status >= 200 && status < 300) {
        if (head.length > 0) socket.unshift(head)
        return resolve(socket)
      }
      socket.on('error', () => {}).destroy()
      reject(explainRefusal(status, response.headers['proxy-authenticate'] ?? [], proxy, host))
    })
    request.end()
  })
}

const correctIt = 'correct HTTPS_PROXY (`proxy` in deskmirror.yaml)'
const trustIt =
  'set NODE_EXTRA_CA_CERTS to the file of that authority, where deskmirror is started (not in .env)'

function explainUnreachable(error: Error, { name }: HttpProxy): ProxyError {
  const needsPerson = isUntrustedCertificate(error)
  const next = needsPerson ? trustIt : `start the proxy, or ${correctIt}`
  const why = `the proxy ${name} cannot be used: ${describeNetworkError(error)}`
  return new ProxyError(why, { next, needsPerson })
}

/** `challenges`: of a 407. */
function explainRefusal(
  status: number,
  challenges: string | readonly string[],
  { name, authorization }: HttpProxy,
  host: string,
): ProxyError {
  const proxy = `the proxy ${name}`
  const needsPerson = (why: string, next: string) =>
    new ProxyError(`${proxy} ${why} (${status})`, { next, needsPerson: true })
  if (status === 407) {
    const schemes = [challenges].flat().flatMap((text) => /^\s*(\w{1,20})/.exec(text)?.[1] ?? [])
    if (schemes.length > 0 && !schemes.some((scheme) => /^basic$/i.test(scheme)))
      return needsPerson(
        `accepts no password, only ${schemes.join(', ')}`,
        'run a program on this machine that signs in there (cntlm, px), and name it in HTTPS_PROXY',
      )
    const why =
      authorization === null ? 'wants a user and a password' : 'refuses the user or the password'
    return needsPerson(why, `${correctIt}: http://USER:PASSWORD@${name}`)
  }
  if (status >= 400 && status < 500 && ![408, 425, 429].includes(status))
    return needsPerson(
      `does not allow connections to ${host}`,
      `ask whoever runs it to allow ${host}, or name that in NO_PROXY if it is reached directly`,
    )
  return new ProxyError(`${proxy} answers ${status} instead of connecting to ${host}`, {
    next: 'check DESKMIRROR_BASE_URL, and ask whoever runs the proxy; trying again may help',
    needsPerson: false,
  })
}

function explainBrokenTunnel(error: Error, { name }: HttpProxy, host: string): ProxyError {
  const through = `through the proxy ${name}`
  if (isUntrustedCertificate(error))
    return new ProxyError(
      `${through}, ${host} has a certificate of an authority that this machine does not ` +
        `trust: the proxy may have put its own in its place (${errorCode(error)})`,
      { next: trustIt, needsPerson: true },
    )
  const why = describeNetworkError(error)
  return new ProxyError(`${through}, there is no encrypted connection to ${host}: ${why}`, {
    next: 'ask whoever runs the proxy whether it reads what passes through it; trying again may help',
    needsPerson: false,
  })
}

/**
 * Which proxy leads to the service: that of `proxy`, or of the variables, as curl reads them. This
 * machine is never reached through one. Pure.
 */
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import { type Secret, secret } from '../values/secret.ts'
import { encodingHint, isLoopback, parseServerUrl } from '../values/server-address.ts'
import { UserError } from '../values/user-error.ts'
import { orNull } from './fields.ts'
import { containsPassword, plainPassword, secretField } from './secret-fields.ts'
import type { Setting, Variables } from './setting.ts'

/** `address`: it may contain a password; null: no proxy. `exceptions`: as in NO_PROXY. */
export type ProxyRule = { readonly address: Secret | null; readonly exceptions: string }

export type HttpProxy = {
  readonly isTls: boolean
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
  /** Host and port, for people. */
  readonly name: string
  /** Of the header `Proxy-Authorization`; null: the address has no user. */
  readonly authorization: Secret | null
}

const allowed = `must be the address of an HTTP proxy, like http://proxy.example.com:3128 (${encodingHint})`

const noProxy: ProxyRule = { address: null, exceptions: '*' }

/** Null: not set, so that the variables decide. */
export const proxySetting: Setting<ProxyRule | null> = {
  name: 'proxy',
  about:
    'The HTTP proxy through which the service is reached, whatever the variables say: ' +
    '`http://proxy.example.com:3128`, a reference to an address with a password, or ' +
    '`none`. Without it `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` decide, as in curl.',
  variable: null,
  isSensitive: true,
  field: (read) =>
    orNull(
      z.unknown().transform((value, context): ProxyRule => {
        if (value === 'none') return noProxy
        const found =
          typeof value === 'string' ? readLiteral(value) : secretField(read).safeParse(value)
        if (found.success) return { address: found.data, exceptions: '' }
        for (const { message } of found.error.issues) context.addIssue({ code: 'custom', message })
        return z.NEVER
      }),
    ),
}

function readLiteral(text: string) {
  const literal = z
    .string()
    .refine((value) => !containsPassword(value), plainPassword)
    .refine((value) => parseProxy(value) !== null, allowed)
  return literal.transform(secret).safeParse(text.trim())
}

/**
 * Small letters win, and of `HTTP_PROXY` neither is read: it is for http addresses, which only this
 * machine may have. Source: curl's manual, "ENVIRONMENT".
 */
export function proxyOfVariables(variables: Variables): ProxyRule {
  const { no_proxy: exceptions = variables.NO_PROXY ?? '' } = variables
  const name = addressVariable(variables)
  const text = name === undefined ? undefined : variables[name]
  return { address: text === undefined ? null : secret(text.trim()), exceptions }
}

export function addressVariable(variables: Variables): string | undefined {
  const names = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']
  return names.find((name) => variables[name] !== undefined)
}

/** Null: the address is reached directly. Throws UserError if `proxyProblem` says so. */
export function findProxy(rule: ProxyRule | null, url: URL): HttpProxy | null {
  if (rule === null || rule.address === null || isDirect(rule, url)) return null
  const proxy = parseProxy(rule.address.reveal())
  if (proxy !== null) return proxy
  throw new UserError({
    what: `the proxy for ${url.host} cannot be used`,
    why: `its address ${allowed}`,
    next: 'correct HTTPS_PROXY (`proxy` in deskmirror.yaml), or name the host in NO_PROXY',
  })
}

/** Why the proxy of this address cannot be used; null: it can, or there is none. */
export function proxyProblem({ address, exceptions }: ProxyRule, url: URL): string | null {
  if (address === null || isDirect({ exceptions }, url)) return null
  return parseProxy(address.reveal()) === null ? allowed : null
}

export function isDirect({ exceptions }: Pick<ProxyRule, 'exceptions'>, url: URL): boolean {
  const host = bareHost(url.hostname)
  const port = url.port === '' ? '443' : url.port
  return (
    isLoopback(url.hostname) ||
    exceptions.split(/[\s,]+/).some((exception) => isExcepted(exception, host, port))
  )
}

/**
 * An exception is a domain with all names below it, an address, a network, or `*`; with a port, it
 * is for that port only, which curl has not.
 */
function isExcepted(exception: string, host: string, port: string): boolean {
  const [, withoutPort = exception, ownPort] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(exception) ?? []
  const name = bareHost(withoutPort).replace(/^\*?\./, '')
  if (name === '' || (ownPort !== undefined && Number(ownPort) !== Number(port))) return false
  if (name === '*') return true
  return isIP(host) === 0 ? host === name || host.endsWith(`.${name}`) : isInNetwork(host, name)
}

/** `network`: an address, also with the bits of its network. */
function isInNetwork(address: string, network: string): boolean {
  const [first = '', bits] = network.split('/')
  const version = isIP(first)
  const all = version === 6 ? 128 : 32
  const length = bits === undefined ? all : /^\d+$/.test(bits) ? Number(bits) : -1
  if (version === 0 || isIP(address) !== version || length < 0 || length > all) return false
  const list = new BlockList()
  const family = version === 6 ? 'ipv6' : 'ipv4'
  list.addSubnet(first, length, family)
  return list.check(address, family)
}

/** Without a scheme, it is http. */
export const withScheme = (address: string): string =>
  address.includes('://') ? address : `http://${address}`

/** Null: it is none. Without a port it is 1080, as in curl. */
function parseProxy(text: string): HttpProxy | null {
  const address = withScheme(text)
  const parsed = parseServerUrl(address, ['http', 'https'])
  if (!parsed.ok) return null
  const { protocol, hostname, username, password } = new URL(parsed.href)
  const isTls = protocol === 'https:'
  // The port of the scheme is not part of a URL, also if it is written down.
  const [, written] = /:(\d+)(?:[/?#].*)?$/.exec(address.slice(address.lastIndexOf('@') + 1)) ?? []
  const port = Number(written ?? (isTls ? 443 : 1080))
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return {
    isTls,
    host: bareHost(hostname),
    port,
    name: `${hostname}:${port}`,
    authorization: user === ':' ? null : secret(`Basic ${Buffer.from(user).toString('base64')}`),
  }
}

/** In small letters, without brackets, and without the dot of the root. */
const bareHost = (hostname: string): string =>
  hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')

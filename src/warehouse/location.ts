/** Where a warehouse is, and which setting says so. No password is ever printed. */
import { parseServerUrl, serverDisplayName } from '../values/server-address.ts'
import { UserError } from '../values/user-error.ts'

/** `setting`: what a person changes to name another database, for errors. */
export type DatabaseLocation = { readonly setting: string } & (
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }
)

export type SqliteLocation = Extract<DatabaseLocation, { readonly kind: 'sqlite' }>

export function parseDatabaseUrl(
  url: string,
  setting = 'DESKMIRROR_DATABASE_URL',
): DatabaseLocation {
  if (url.startsWith('sqlite:') && url.length > 'sqlite:'.length)
    // Also in the form of a URL: `sqlite:///var/lib/deskmirror.db`.
    return { kind: 'sqlite', path: url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, ''), setting }
  const parsed = parseServerUrl(url, ['postgres', 'postgresql'])
  if (parsed.ok) return { kind: 'postgres', url: parsed.href, setting }
  throw new UserError({
    what: 'cannot find the warehouse',
    why: `${setting} is neither sqlite:PATH nor a valid postgres:// URL`,
    next: 'write it like sqlite:deskmirror.db or postgres://user:password@host/database',
  })
}

/** For messages: the path or the server, without credentials. */
export function locationLabel(location: DatabaseLocation): string {
  return location.kind === 'sqlite' ? `sqlite:${location.path}` : serverDisplayName(location.url)
}

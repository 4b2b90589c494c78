/** Where a warehouse is. No password is ever printed. */
import { nameOfServer, serverUrl } from '../../core/server-url.ts'
import { UserError } from '../../core/user-error.ts'

export type Place =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

export function parseDatabaseUrl(url: string): Place {
  if (url.startsWith('sqlite:') && url.length > 'sqlite:'.length) return { kind: 'sqlite', path: sqlitePath(url) }
  const read = serverUrl(url, ['postgres', 'postgresql'])
  if (read.ok) return { kind: 'postgres', url: read.href }
  throw new UserError({
    what: 'cannot tell where the warehouse is',
    why: 'DESKMIRROR_DATABASE_URL is neither sqlite:PATH nor a readable postgres:// URL',
    next: 'write it like sqlite:deskmirror.db or postgres://user:password@host/database',
    exitCode: 2,
  })
}

/** `sqlite:desk.db`, `sqlite:/var/lib/desk.db`, and `sqlite:///var/lib/desk.db` too. */
function sqlitePath(url: string): string {
  return url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
}

/** For a person: what could not be opened, without credentials. */
export function nameOfPlace(place: Place): string {
  return place.kind === 'sqlite' ? `sqlite:${place.path}` : nameOfServer(place.url)
}

/**
 * How Metabase describes a database that it connects to. Source: metabase/metabase, docs/databases,
 * read 2026-11-22.
 */

export type Engine = 'postgres' | 'sqlite'

/** `postgres://…` or `sqlite:/path`, as Metabase reaches it. */
export function databaseDetails(url: string): {
  readonly engine: Engine
  readonly details: unknown
} {
  if (url.startsWith('sqlite:'))
    return { engine: 'sqlite', details: { db: url.slice('sqlite:'.length) } }
  const { hostname, port, pathname, username, password, searchParams } = new URL(url)
  return {
    engine: 'postgres',
    details: {
      host: hostname,
      port: Number(port || 5432),
      dbname: decodeURIComponent(pathname.slice(1)),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      ssl: /^(require|verify-ca|verify-full)$/.test(searchParams.get('sslmode') ?? ''),
    },
  }
}

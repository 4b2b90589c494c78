/** Explains errors of Postgres and of a pooler in front of it. Source: its documentation, appendix "Error Codes". */
import type { ExplanationTable } from './error-explanation.ts'

const inUrl = 'in DESKMIRROR_DATABASE_URL'

/** Codes of Node (E…), of TLS and of Postgres (five characters); if there is no code, the driver's message. */
export const postgresExplanations: ExplanationTable = [
  [
    /^FILE_/,
    {
      why: 'a file that the address names (sslrootcert, sslcert, sslkey) cannot be read',
      next: `correct its path ${inUrl}, or its permissions`,
      exitCode: 2,
    },
  ],
  [
    /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|EADDRNOTAVAIL|ENOENT|EACCES)/,
    { why: 'the server does not answer', next: `start the server, or correct host and port ${inUrl}`, exitCode: 1 },
  ],
  [/^(ENOTFOUND|EAI_)/, { why: 'the host name cannot be resolved', next: `correct the host ${inUrl}`, exitCode: 2 }],
  [
    /^(EMFILE|ENFILE|ENOBUFS)/,
    {
      why: 'this process has too many files open',
      next: 'raise its limit (`ulimit -n`), and try again',
      exitCode: 1,
    },
  ],
  [
    /SELF_SIGNED|UNABLE_TO|CERT_|ALTNAME/,
    {
      why: "the server's certificate is not trusted, has expired, or is for another host",
      next: `name the authority that signed it with ?sslrootcert=PATH ${inUrl}, or renew the certificate`,
      exitCode: 2,
    },
  ],
  [
    /does not support SSL|^ERR_SSL|^EPROTO/,
    {
      why: 'the server does not support TLS',
      next: `remove sslmode ${inUrl}, or enable TLS on the server`,
      exitCode: 2,
    },
  ],
  [
    /^28000/,
    {
      why: 'the server does not know this user, or does not accept the user this way from here (pg_hba.conf)',
      next: `correct the user ${inUrl}, use TLS with ?sslmode=require, or change the server's settings`,
      exitCode: 2,
    },
  ],
  [
    /^28/,
    {
      why: 'the server refuses this user or this password',
      next: `correct user and password ${inUrl}`,
      exitCode: 2,
    },
  ],
  [
    /SASL|password/i,
    {
      why: 'the server requires a password',
      next: 'write it into DESKMIRROR_DATABASE_URL: postgres://user:password@host/database',
      exitCode: 2,
    },
  ],
  [/^3D000/, { why: 'the server has no database of that name', next: 'create it: createdb NAME', exitCode: 2 }],
  [/^3F000/, { why: 'the database has no schema of that name', next: 'create it: create schema NAME', exitCode: 2 }],
  [
    /^42501/,
    {
      why: 'the user lacks a permission',
      next: 'make the user the owner of the schema, or run: grant usage, create on schema public to USER; and grant rights on the existing tables',
      exitCode: 2,
    },
  ],
  [
    /^42P01/,
    {
      why: 'one of its tables is missing (42P01)',
      next: 'restore the warehouse from a backup, or sync again into an empty schema',
      exitCode: 2,
    },
  ],
  [
    /^25006/,
    {
      why: 'the database is read-only: the server is a standby, or writing is disabled for this user or database',
      next: `name the primary server ${inUrl}, or set default_transaction_read_only to off`,
      exitCode: 2,
    },
  ],
  [
    /^(22P05|22021)/,
    {
      why: 'the encoding of the database cannot hold all characters',
      next: 'create one that can: createdb --encoding=UTF8 --template=template0 NAME',
      exitCode: 2,
    },
  ],
  [
    /^57014/,
    {
      why: 'the server cancelled a statement: it took longer than statement_timeout, or an administrator stopped it',
      next: "try again; if it happens again: alter role USER set statement_timeout = '10min'",
      exitCode: 1,
    },
  ],
  [
    /^25P0[34]/,
    {
      why: 'the server ended a transaction that took longer than it allows (idle_in_transaction_session_timeout)',
      next: 'try again; if it happens again, raise that setting for this user',
      exitCode: 1,
    },
  ],
  [
    /^53300/,
    {
      why: 'the server has no connections left',
      next: 'try again when others have disconnected, or raise max_connections there',
      exitCode: 1,
    },
  ],
  [/^53100/, { why: "the server's disk is full", next: 'free space on it, and try again', exitCode: 1 }],
  [
    /^(57P03|53)/,
    { why: 'the server is starting, or has no resources left', next: 'try again in a while', exitCode: 1 },
  ],
  [/^(58|XX|F0)/, { why: 'the server reports a storage fault', next: "look at the server's log", exitCode: 2 }],
  [
    /^(26000|42P05)/,
    {
      why: 'a connection pooler gives each transaction another connection, which was not detected in time',
      next: 'try again; if it happens again, connect to Postgres directly',
      exitCode: 1,
    },
  ],
  [
    /^08P01/,
    {
      why: 'the server, or a connection pooler (PgBouncer) in front of it, rejects the connection',
      next: `connect to Postgres directly ${inUrl}, or look at the pooler's log`,
      exitCode: 1,
    },
  ],
  [
    /^(57P|08)|^Connection |not queryable/,
    {
      why: 'the connection was lost',
      next: "try again; if it happens each time, look at the server's log",
      exitCode: 1,
    },
  ],
  [/^55P03|^40/, { why: 'another process holds a lock that is needed', next: 'try again', exitCode: 1 }],
]

/** Errors of the connection, the server or its permissions, as opposed to errors of a statement. */
export const postgresExternalErrors =
  /^(57|08|53|58|XX|F0|28|3D000|3F000|42501|42P01|42P05|26000|25006|25P0[34]|22P05|22021|55P03|40)|^E[A-Z_]{3,}$|^Connection |not queryable|SELF_SIGNED|UNABLE_TO|CERT_|SASL/

/** Errors that pass by themselves: a restart, a failover, too many connections. */
export const postgresTransientErrors =
  /^(57P0|08|53300|25P0[34]|26000|42P05|55P03|40)|^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_|ENOENT|EADDRNOTAVAIL)|^Connection |not queryable/

/** Explains errors of Postgres and of a pooler in front of it. Source: its documentation, appendix "Error Codes". */
import { type ExplanationTable, fixFirst, tryAgain } from './error-explanation.ts'

/** `setting`: where the address is from. Codes of Node (E…), of TLS and of Postgres (five characters); if there is no code, the driver's message. */
export const postgresExplanations = (setting: string): ExplanationTable => [
  fixFirst(
    /^FILE_/,
    'a file that the address names (sslrootcert, sslcert, sslkey) cannot be read',
    `correct its path in ${setting}, or its permissions`,
  ),
  tryAgain(
    /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|EADDRNOTAVAIL|ENOENT|EACCES)/,
    'the server does not answer',
    `start the server, or correct host and port in ${setting}`,
  ),
  fixFirst(/^(ENOTFOUND|EAI_)/, 'the host name cannot be resolved', `correct the host in ${setting}`),
  tryAgain(
    /^(EMFILE|ENFILE|ENOBUFS)/,
    'this process has too many files open',
    'raise its limit (`ulimit -n`), and try again',
  ),
  fixFirst(
    /SELF_SIGNED|UNABLE_TO|CERT_|ALTNAME/,
    "the server's certificate is not trusted, has expired, or is for another host",
    `name the authority that signed it with ?sslrootcert=PATH in ${setting}, or renew the certificate`,
  ),
  fixFirst(
    /does not support SSL|^ERR_SSL|^EPROTO/,
    'the server does not support TLS',
    `remove sslmode in ${setting}, or enable TLS on the server`,
  ),
  fixFirst(
    /^28000/,
    'the server does not know this user, or does not accept the user this way from here (pg_hba.conf)',
    `correct the user in ${setting}, use TLS with ?sslmode=require, or change the server's settings`,
  ),
  fixFirst(/^28/, 'the server refuses this user or this password', `correct user and password in ${setting}`),
  fixFirst(
    /SASL|password/i,
    'the server requires a password',
    `write it in ${setting}: postgres://user:password@host/database`,
  ),
  fixFirst(/^3D000/, 'the server has no database of that name', 'create it: createdb NAME'),
  fixFirst(/^3F000/, 'the database has no schema of that name', 'create it: create schema NAME'),
  fixFirst(
    /^42501/,
    'the user lacks a permission',
    'make the user the owner of the schema, or run: grant usage, create on schema public to USER; and grant rights on the existing tables',
  ),
  fixFirst(
    /^42P01/,
    'one of its tables is missing (42P01)',
    'restore the warehouse from a backup, or sync again into an empty schema',
  ),
  fixFirst(
    /^25006/,
    'the database is read-only: the server is a standby, or writing is disabled for this user or database',
    `name the primary server in ${setting}, or set default_transaction_read_only to off`,
  ),
  fixFirst(
    /^(22P05|22021)/,
    'the encoding of the database cannot hold all characters',
    'create one that can: createdb --encoding=UTF8 --template=template0 NAME',
  ),
  tryAgain(
    /^57014/,
    'the server cancelled a statement: it took longer than statement_timeout, or an administrator stopped it',
    "try again; if it happens again: alter role USER set statement_timeout = '10min'",
  ),
  tryAgain(
    /^25P0[34]/,
    'the server ended a transaction that took longer than it allows (idle_in_transaction_session_timeout)',
    'try again; if it happens again, raise that setting for this user',
  ),
  tryAgain(
    /^53300/,
    'the server has no connections left',
    'try again when others have disconnected, or raise max_connections there',
  ),
  tryAgain(/^53100/, "the server's disk is full", 'free space on it, and try again'),
  tryAgain(/^(57P03|53)/, 'the server is starting, or has no resources left', 'try again in a while'),
  fixFirst(/^(58|XX|F0)/, 'the server reports a storage fault', "look at the server's log"),
  tryAgain(
    /^(26000|42P05)/,
    'a connection pooler gives each transaction another connection, which was not detected in time',
    'try again; if it happens again, connect to Postgres directly',
  ),
  tryAgain(
    /^08P01/,
    'the server, or a connection pooler (PgBouncer) in front of it, rejects the connection',
    `connect to Postgres directly in ${setting}, or look at the pooler's log`,
  ),
  tryAgain(
    /^(57P|08)|^Connection |not queryable/,
    'the connection was lost',
    "try again; if it happens each time, look at the server's log",
  ),
  tryAgain(/^55P03|^40/, 'another process holds a lock that is needed', 'try again'),
]

/** Errors of the connection, the server or its permissions, as opposed to errors of a statement. */
export const postgresExternalErrors =
  /^(57|08|53|58|XX|F0|28|3D000|3F000|42501|42P01|42P05|26000|25006|25P0[34]|22P05|22021|55P03|40)|^E[A-Z_]{3,}$|^Connection |not queryable|SELF_SIGNED|UNABLE_TO|CERT_|SASL/

/** Errors that pass by themselves: a restart, a failover, too many connections. */
export const postgresTransientErrors =
  /^(57P0|08|53300|25P0[34]|26000|42P05|55P03|40)|^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_|ENOENT|EADDRNOTAVAIL)|^Connection |not queryable/

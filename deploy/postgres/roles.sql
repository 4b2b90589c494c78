-- The roles and databases of docker-compose.yml, created by psql on a new server: deskmirror owns the warehouse, reader
-- can only read it, analyst can only read the objects for analysts once `deskmirror migrate --grant analyst` has run, and
-- Metabase stores its own data in a separate database.
\set warehouse_password `cat /run/secrets/warehouse-password`
\set reader_password `cat /run/secrets/reader-password`
\set analyst_password `cat /run/secrets/analyst-password`
\set metabase_password `cat /run/secrets/metabase-password`

create role deskmirror login password :'warehouse_password';
create role metabase login password :'metabase_password';
create role reader login password :'reader_password';
create role analyst login password :'analyst_password';
-- A query that takes too long is cancelled, so that it does not block others.
alter role reader set default_transaction_read_only = on;
alter role reader set statement_timeout = '5min';
alter role reader set idle_in_transaction_session_timeout = '1min';
-- Nor does it fill the disk. Its memory is limited by that of the container only: one long text may take a gigabyte.
alter role reader set temp_file_limit = '4GB';
alter role reader set work_mem = '16MB';
alter role analyst set temp_file_limit = '4GB';
alter role analyst set work_mem = '16MB';
alter role analyst set default_transaction_read_only = on;
alter role analyst set statement_timeout = '5min';
alter role analyst set idle_in_transaction_session_timeout = '1min';

create database deskmirror owner deskmirror;
create database metabase owner metabase;
revoke all on database deskmirror from public;
revoke all on database metabase from public;
grant connect on database deskmirror to reader, analyst;

\connect deskmirror
grant usage on schema public to reader, analyst;
-- Also for tables of future migrations.
alter default privileges for role deskmirror in schema public grant select on tables to reader;

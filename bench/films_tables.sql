-- Tables of bench/films for the schema that the search path names; psql's variables am and films
-- are the access method and how many films there are.  Popular films, persons and keywords have
-- most of the rows, as in life, and columns depend on each other: kinds and years, companies and
-- countries, keywords and genres.
set default_table_access_method = :am;
select setseed(0.7) \g /dev/null
create table kind_type as
	select i as id, (array['movie', 'tv series', 'tv movie', 'video movie', 'tv mini series',
		'video game', 'episode'])[i] as kind from generate_series(1, 7) i;
create table info_type as select i as id, 'info ' || i as info from generate_series(1, 110) i;
create table company_type as
	select i as id, (array['distributors', 'production companies', 'special effects',
		'miscellaneous'])[i] as kind from generate_series(1, 4) i;
create table role_type as
	select i as id, 'role ' || i as role from generate_series(1, 12) i;
create table keyword as
	select i as id, case when i % 50 = 0 then 'sequel-' when i % 70 = 0 then 'superhero-'
		when i % 11 = 0 then 'based-on-' else 'theme-' end || md5(i::text) as keyword
	from generate_series(1, :films / 5) i;
create table company_name as
	select i as id, 'Company ' || left(md5(i::text), 6) || case when i % 7 = 0 then ' Film'
		when i % 5 = 0 then ' Pictures' when i % 40 = 1 then ' Warner' else '' end as name,
		case when random() < 0.4 then '[us]' when random() < 0.3 then '[de]'
			when random() < 0.4 then '[gb]' else '[' || chr(97 + i % 26) || 'x]' end as country_code
	from generate_series(1, :films / 10) i;
create table person as
	select i as id, chr(65 + (power(random(), 2) * 25)::int) || left(md5(i::text), 7) || ', ' ||
		chr(65 + i % 26) || left(md5((i * 3)::text), 5) as name,
		case when random() < 0.6 then 'm' when random() < 0.8 then 'f' end as gender
	from generate_series(1, :films * 2) i;
create table title as
	select i as id, 'The ' || md5(i::text) || case when i % 30 = 0 then ' (part ' || i % 9 || ')'
		else '' end as title, k as kind_id,
		case when k in (1, 3) then 1920 + (power(random(), 0.4) * 105)::int
			else 1960 + (power(random(), 0.3) * 65)::int end as production_year,
		case when k = 7 then i % 400 end as episode_nr
	from (select i, case when random() < 0.55 then 7 when random() < 0.6 then 1
		else 1 + (random() * 5.4)::int end as k from generate_series(1, :films) i) x;
create table movie_companies as
	select i as id, 1 + (power(random(), 1.5) * (:films - 1))::int as movie_id,
		1 + (power(random(), 4) * (:films / 10 - 1))::int as company_id,
		1 + (random() * 2.4)::int as company_type_id,
		case when random() < 0.5 then '(' || 1960 + i % 60 || ') (' ||
			(array['USA', 'worldwide', 'Germany', 'UK', 'TV', 'VHS', 'co-production',
			'presents'])[1 + i % 8] || ')' end as note
	from generate_series(1, :films) i;
create table movie_info as
	select i as id, 1 + (power(random(), 1.3) * (:films - 1))::int as movie_id, t as info_type_id,
		case when t = 3 then (array['Drama', 'Comedy', 'Horror', 'Action', 'Thriller', 'Sci-Fi',
				'Documentary', 'Western'])[1 + (power(random(), 2) * 7)::int]
			when t = 16 then 'USA:' || 1 + i % 28 || ' May ' || 1960 + i % 60
			when t = 8 then (array['USA', 'Germany', 'UK', 'France', 'India', 'Sweden', 'Norway',
				'Denmark'])[1 + (power(random(), 2) * 7)::int]
			else 'fact ' || md5(i::text) end as info
	from (select i, (array[3, 16, 8, 1 + (random() * 109)::int])[1 + (random() * 3)::int] as t
		from generate_series(1, :films * 5) i) x;
create table movie_info_idx as
	select i as id, 1 + (power(random(), 1.2) * (:films - 1))::int as movie_id,
		99 + i % 3 as info_type_id, case when i % 3 = 2 then (random() * 9.9)::numeric(3,1)::text
			else (power(random(), 6) * 100000)::int::text end as info
	from generate_series(1, :films) i;
create table movie_keyword as
	select i as id, 1 + (power(random(), 2) * (:films - 1))::int as movie_id,
		1 + (power(random(), 3) * (:films / 5 - 1))::int as keyword_id
	from generate_series(1, :films * 2) i;
create table cast_info as
	select i as id, 1 + (power(random(), 2.5) * (:films * 2 - 1))::int as person_id,
		1 + (power(random(), 1.4) * (:films - 1))::int as movie_id,
		case when random() < 0.4 then (random() * 50)::int end as nr_order,
		1 + (power(random(), 2) * 10.9)::int as role_id,
		case when random() < 0.2 then (array['(voice)', '(uncredited)', '(producer)',
			'(voice: English version)', '(executive producer)', '(writer)'])[1 + i % 6] end as note
	from generate_series(1, :films * 8) i;
create table movie_link as
	select i as id, 1 + (power(random(), 3) * (:films - 1))::int as movie_id,
		1 + (power(random(), 3) * (:films - 1))::int as linked_movie_id, 1 + i % 17 as link_type_id
	from generate_series(1, :films / 20) i;
alter table kind_type add primary key (id);
alter table info_type add primary key (id);
alter table company_type add primary key (id);
alter table role_type add primary key (id);
alter table keyword add primary key (id);
alter table company_name add primary key (id);
alter table person add primary key (id);
alter table title add primary key (id);
alter table movie_companies add primary key (id);
alter table movie_info add primary key (id);
alter table movie_info_idx add primary key (id);
alter table movie_keyword add primary key (id);
alter table cast_info add primary key (id);
alter table movie_link add primary key (id);
create index on title (kind_id);
create index on movie_companies (movie_id);
create index on movie_companies (company_id);
create index on movie_info (movie_id);
create index on movie_info (info_type_id);
create index on movie_info_idx (movie_id);
create index on movie_info_idx (info_type_id);
create index on movie_keyword (movie_id);
create index on movie_keyword (keyword_id);
create index on cast_info (movie_id);
create index on cast_info (person_id);
create index on movie_link (movie_id);
create index on movie_link (linked_movie_id);
vacuum (analyze) kind_type, info_type, company_type, role_type, keyword, company_name, person,
	title, movie_companies, movie_info, movie_info_idx, movie_keyword, cast_info, movie_link;

-- Queries of bench/films, each behind a line with its name: the shapes of joins over films, as many
-- tables as the Join Order Benchmark joins, smallest values asked for.

-- F1 production companies of well-known films
select min(mc.note), min(t.title), min(t.production_year)
from company_type ct, info_type it, movie_companies mc, movie_info_idx mx, title t
where ct.kind = 'production companies' and it.id = 100 and mc.note not like '%(VHS)%'
	and (mc.note like '%(co-production)%' or mc.note like '%(presents)%')
	and ct.id = mc.company_type_id and t.id = mc.movie_id and t.id = mx.movie_id
	and mc.movie_id = mx.movie_id and it.id = mx.info_type_id

-- F2 companies of a country and one keyword
select min(t.title)
from company_name cn, keyword k, movie_companies mc, movie_keyword mk, title t
where cn.country_code = '[de]' and k.keyword like 'superhero-%' and cn.id = mc.company_id
	and mc.movie_id = t.id and t.id = mk.movie_id and mk.keyword_id = k.id
	and mc.movie_id = mk.movie_id

-- F3 sequels shown in some countries
select min(t.title)
from keyword k, movie_info mi, movie_keyword mk, title t
where k.keyword like '%sequel%' and mi.info in ('Sweden', 'Norway', 'Germany', 'Denmark')
	and t.production_year > 2005 and t.id = mi.movie_id and t.id = mk.movie_id
	and mk.movie_id = mi.movie_id and k.id = mk.keyword_id

-- F4 ratings of sequels
select min(mx.info), min(t.title)
from info_type it, keyword k, movie_info_idx mx, movie_keyword mk, title t
where it.info = 'info 101' and k.keyword like '%sequel%' and mx.info > '9.0'
	and t.production_year > 2010 and t.id = mx.movie_id and t.id = mk.movie_id
	and mk.movie_id = mx.movie_id and k.id = mk.keyword_id and it.id = mx.info_type_id

-- F5 a person's films with a keyword
select min(k.keyword), min(n.name), min(t.title)
from cast_info ci, keyword k, movie_keyword mk, person n, title t
where k.id = 50 and n.name like '%Z%' and t.production_year > 2010 and k.id = mk.keyword_id
	and t.id = mk.movie_id and t.id = ci.movie_id and ci.movie_id = mk.movie_id
	and n.id = ci.person_id

-- F6 linked films of persons whose names begin so
select min(n.name), min(t.title)
from cast_info ci, movie_link ml, person n, title t
where n.name like 'B%' and (n.gender = 'm' or n.name like 'B%a%') and ml.link_type_id = 5
	and t.production_year between 1980 and 1995 and ci.person_id = n.id and t.id = ci.movie_id
	and ml.linked_movie_id = t.id and ci.movie_id = ml.linked_movie_id

-- F7 voices in films of companies of one country
select min(n.name), min(t.title)
from cast_info ci, company_name cn, movie_companies mc, person n, role_type rt, title t
where ci.note = '(voice: English version)' and cn.country_code = '[gb]' and mc.note like '%(UK)%'
	and rt.role = 'role 2' and n.id = ci.person_id and ci.movie_id = t.id and t.id = mc.movie_id
	and mc.company_id = cn.id and ci.role_id = rt.id

-- F8 ... in some years, of women
select min(n.name), min(t.title)
from cast_info ci, company_name cn, movie_companies mc, person n, role_type rt, title t
where ci.note in ('(voice)', '(voice: English version)') and cn.country_code = '[us]'
	and mc.note is not null and (mc.note like '%(USA)%' or mc.note like '%(worldwide)%')
	and n.gender = 'f' and n.name like '%An%' and rt.id = 1
	and t.production_year between 2005 and 2015 and ci.movie_id = t.id and t.id = mc.movie_id
	and ci.movie_id = mc.movie_id and mc.company_id = cn.id and ci.role_id = rt.id
	and n.id = ci.person_id

-- F9 uncredited persons of films without a company's name
select min(ci.nr_order), min(t.title), count(*)
from cast_info ci, company_name cn, company_type ct, movie_companies mc, role_type rt, title t
where ci.note like '%(uncredited)%' and cn.country_code = '[us]' and t.production_year > 2005
	and t.id = mc.movie_id and t.id = ci.movie_id and ci.movie_id = mc.movie_id
	and rt.id = ci.role_id and cn.id = mc.company_id and ct.id = mc.company_type_id

-- F10 follow-ups by companies called so
select min(cn.name), min(t.title), min(ml.link_type_id)
from company_name cn, company_type ct, keyword k, movie_companies mc, movie_keyword mk,
	movie_link ml, title t
where cn.country_code <> '[px]' and (cn.name like '%Film%' or cn.name like '%Warner%')
	and ct.kind = 'production companies' and k.keyword like '%sequel%' and mc.note is null
	and t.production_year between 1950 and 2000 and ml.movie_id = t.id and t.id = mk.movie_id
	and mk.keyword_id = k.id and t.id = mc.movie_id and mc.company_type_id = ct.id
	and mc.company_id = cn.id and ml.movie_id = mk.movie_id and ml.movie_id = mc.movie_id
	and mk.movie_id = mc.movie_id

-- F11 genres, ratings, production companies
select min(cn.name), min(mx.info), min(t.title)
from company_name cn, company_type ct, info_type it1, info_type it2, movie_companies mc,
	movie_info mi, movie_info_idx mx, title t
where cn.country_code = '[us]' and ct.kind = 'production companies' and it1.id = 3
	and it2.id = 101 and mi.info in ('Drama', 'Horror') and mx.info > '8.0'
	and t.production_year between 2005 and 2008 and t.id = mi.movie_id and t.id = mx.movie_id
	and mi.info_type_id = it1.id and mx.info_type_id = it2.id and t.id = mc.movie_id
	and ct.id = mc.company_type_id and cn.id = mc.company_id and mc.movie_id = mi.movie_id
	and mc.movie_id = mx.movie_id and mi.movie_id = mx.movie_id

-- F12 release dates of films of one kind
select min(mi.info), min(mx.info), min(t.title)
from company_name cn, info_type it1, info_type it2, kind_type kt, movie_companies mc,
	movie_info mi, movie_info_idx mx, title t
where cn.country_code = '[de]' and it1.id = 101 and it2.id = 16 and kt.kind = 'movie'
	and mi.movie_id = t.id and it2.id = mi.info_type_id and kt.id = t.kind_id
	and mc.movie_id = t.id and cn.id = mc.company_id and mx.movie_id = t.id
	and it1.id = mx.info_type_id and mi.movie_id = mx.movie_id and mi.movie_id = mc.movie_id

-- F13 keywords, countries, ratings
select min(mx.info), min(t.title)
from info_type it1, info_type it2, keyword k, kind_type kt, movie_info mi, movie_info_idx mx,
	movie_keyword mk, title t
where it1.id = 8 and it2.id = 101 and k.keyword like 'based-on-%' and kt.kind = 'movie'
	and mi.info in ('Sweden', 'Germany', 'USA', 'UK') and mx.info < '8.5'
	and t.production_year > 2010 and kt.id = t.kind_id and t.id = mi.movie_id
	and t.id = mk.movie_id and t.id = mx.movie_id and mk.movie_id = mi.movie_id
	and mk.movie_id = mx.movie_id and mi.movie_id = mx.movie_id and k.id = mk.keyword_id
	and it1.id = mi.info_type_id and it2.id = mx.info_type_id

-- F14 a cast by letters, companies, keywords
select min(n.name), count(distinct t.id)
from cast_info ci, company_name cn, keyword k, movie_companies mc, movie_keyword mk, person n,
	title t
where n.name like 'X%' and k.keyword like 'theme-a%' and cn.country_code = '[us]'
	and n.id = ci.person_id and ci.movie_id = t.id and t.id = mk.movie_id and mk.keyword_id = k.id
	and t.id = mc.movie_id and mc.company_id = cn.id and ci.movie_id = mc.movie_id
	and ci.movie_id = mk.movie_id and mc.movie_id = mk.movie_id

-- F15 votes of writers' films
select min(mi.info), min(mx.info), min(n.name), min(t.title)
from cast_info ci, info_type it1, info_type it2, movie_info mi, movie_info_idx mx, person n, title t
where ci.note in ('(writer)', '(producer)') and it1.id = 3 and it2.id = 100 and n.gender = 'm'
	and mi.info = 'Horror' and t.id = mi.movie_id and t.id = mx.movie_id and t.id = ci.movie_id
	and ci.movie_id = mi.movie_id and ci.movie_id = mx.movie_id and mi.movie_id = mx.movie_id
	and n.id = ci.person_id and it1.id = mi.info_type_id and it2.id = mx.info_type_id

-- F16 superheroes and their players
select min(n.name), min(t.title), count(*)
from cast_info ci, keyword k, kind_type kt, movie_keyword mk, person n, role_type rt, title t
where k.keyword like 'superhero-%' and kt.kind = 'movie' and rt.id = 1
	and n.gender = 'm' and t.production_year > 1980 and kt.id = t.kind_id and t.id = mk.movie_id
	and t.id = ci.movie_id and ci.movie_id = mk.movie_id and rt.id = ci.role_id
	and n.id = ci.person_id and k.id = mk.keyword_id

-- F17 links between series
select min(t1.title), min(t2.title), count(*)
from movie_link ml, title t1, title t2, kind_type k1, kind_type k2, movie_info_idx m1,
	movie_info_idx m2
where t1.id = ml.movie_id and t2.id = ml.linked_movie_id and k1.id = t1.kind_id
	and k2.id = t2.kind_id and k1.kind in ('tv series', 'episode') and k2.kind in
	('tv series', 'episode') and m1.movie_id = t1.id and m2.movie_id = t2.id
	and m1.info_type_id = 101 and m2.info_type_id = 101 and m2.info < '3.0'

-- F18 films by year, with a count of persons
select t.production_year, count(*), count(distinct ci.person_id)
from title t join cast_info ci on ci.movie_id = t.id join kind_type kt on kt.id = t.kind_id
where kt.kind = 'tv movie' and ci.role_id = 3
group by t.production_year order by 2 desc, 1 limit 10

-- F19 persons without films of their own
select count(*), min(n.name) from person n
where n.gender = 'f' and not exists (select from cast_info ci where ci.person_id = n.id)

-- F20 films with a rating and without a company
select count(*), min(t.title)
from title t join movie_info_idx mx on mx.movie_id = t.id
	left join movie_companies mc on mc.movie_id = t.id
where mx.info_type_id = 101 and mx.info > '9.5' and mc.id is null

-- F21 one film and all of it
select t.title, k.keyword, n.name, ci.nr_order
from title t join movie_keyword mk on mk.movie_id = t.id join keyword k on k.id = mk.keyword_id
	join cast_info ci on ci.movie_id = t.id join person n on n.id = ci.person_id
where t.id = 4711 order by 1, 2, 3, 4

-- F22 films that share persons with one
select t2.title, count(*)
from cast_info c1 join cast_info c2 on c2.person_id = c1.person_id and c2.movie_id <> c1.movie_id
	join title t2 on t2.id = c2.movie_id
where c1.movie_id = 77777 group by t2.id, t2.title order by 2 desc, 1 limit 10

-- F23 newest films of a person
select t.title, t.production_year
from person n join cast_info ci on ci.person_id = n.id join title t on t.id = ci.movie_id
where n.id = 12345 order by t.production_year desc nulls last, t.title limit 5

-- F24 films above the average of their kind
select count(*), min(t.title)
from title t join movie_info_idx mx on mx.movie_id = t.id and mx.info_type_id = 101
where t.id between 1000 and 1020 and mx.info::numeric > (select avg(m2.info::numeric) * 1.5
	from movie_info_idx m2 join title t2 on t2.id = m2.movie_id
	where m2.info_type_id = 101 and t2.kind_id = t.kind_id)
